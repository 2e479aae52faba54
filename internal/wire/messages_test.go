package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func text(b []byte, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	return string(b)
}

// TestResponsesAreWrittenAsPeersExpect spells out the JSON of every result:
// fields of the body beside id and result, and none of the required ones left out.
func TestResponsesAreWrittenAsPeersExpect(t *testing.T) {
	for _, c := range []struct {
		result string
		body   any
		want   string
	}{
		{ResultKernelLaunched, KernelLaunched{KernelType: "python", EnvSource: "uv:prewarmed"}, `"kernel_type":"python","env_source":"uv:prewarmed","launched_config":{}`},
		{ResultKernelAlreadyRunning, KernelLaunched{LaunchedConfig: LaunchConfig{UVDeps: []string{"numpy"}, PythonPath: "/p"}}, `"kernel_type":"","env_source":"","launched_config":{"uv_deps":["numpy"],"python_path":"/p"}`},
		{ResultCellQueued, CellQueued{CellID: "c", ExecutionID: "e"}, `"cell_id":"c","execution_id":"e"`},
		{ResultExecutionIDRejected, ExecutionIDRejected{ExecutionID: "e", Reason: RejectExists}, `"execution_id":"e","reason":"already_exists"`},
		{ResultInterruptSent, nil, ``},
		{ResultInterruptSent, InterruptSent{}, ``},
		{ResultKernelShuttingDown, nil, ``},
		{ResultNoKernel, nil, ``},
		{ResultGuardRejected, GuardRejected{Reason: "moved"}, `"reason":"moved"`},
		{ResultAllCellsQueued, AllCellsQueued{}, `"queued":[]`},
		{ResultAllCellsQueued, AllCellsQueued{Queued: []CellQueued{{"c", "e"}}}, `"queued":[{"cell_id":"c","execution_id":"e"}]`},
		{ResultNotebookSaved, NotebookSaved{Path: "/a.ipynb"}, `"path":"/a.ipynb","exported_heads":[],"save_sequence":0`},
		{ResultNotebookCurrent, NotebookSaved{ExportedHeads: []string{"ab"}, SaveSequence: 2}, `"path":"","exported_heads":["ab"],"save_sequence":2`},
		{ResultSaveBlocked, SaveBlocked{Reason: SaveBlockedReason{Type: BlockedPathOpen, UUID: "u", Path: "/p"}}, `"reason":{"type":"path_already_open","uuid":"u","path":"/p"}`},
		{ResultSaveBlocked, SaveBlocked{Path: "/p", SaveSequence: ptr(uint64(0)), Reason: SaveBlockedReason{Type: BlockedIO, Message: "full"}, Code: "save_failed"}, `"path":"/p","save_sequence":0,"reason":{"type":"io","message":"full"},"runt_code":"save_failed"`},
		{ResultSaveBlocked, SaveBlocked{Reason: SaveBlockedReason{Type: BlockedSuperseded, LatestSequence: ptr(uint64(0))}}, `"reason":{"type":"superseded","latest_sequence":0}`},
		{ResultSourceReconciled, SourceReconciled{Operation: "o", Path: "p"}, `"operation":"o","path":"p","exported_heads":[],"save_sequence":0,"source_generation":0`},
		{ResultNotebookCloned, NotebookCloned{NotebookID: "n"}, `"notebook_id":"n"`},
		{ResultOK, nil, ``},
		{ResultError, ErrorBody{Error: "bad"}, `"error":"bad"`},
		{ResultError, ErrorBody{Error: "bad", Code: "timeout", Hint: "Wait."}, `"error":"bad","runt_code":"timeout","runt_hint":"Wait."`},
		{ResultHistory, HistoryResult{}, `"entries":[]`},
		{ResultHistory, HistoryResult{Entries: []HistoryEntry{{Source: "x"}}}, `"entries":[{"session":0,"line":0,"source":"x"}]`},
		{ResultCompletion, CompletionResult{CursorStart: 1, CursorEnd: 2}, `"items":[],"cursor_start":1,"cursor_end":2`},
		{ResultCompletion, CompletionResult{Items: []CompletionItem{{Label: "print"}}}, `"items":[{"label":"print"}],"cursor_start":0,"cursor_end":0`},
		{ResultSyncEnvComplete, SyncEnvironmentComplete{}, `"synced_packages":[]`},
		{ResultSyncEnvFailed, SyncEnvironmentFailed{Error: "e"}, `"error":"e","needs_restart":false`},
		{ResultDocBytes, DocBytes{}, `"bytes":[]`},
		{ResultDocBytes, DocBytes{Bytes: ByteArray{0, 7, 255}}, `"bytes":[0,7,255]`},
		{ResultSyncAcknowledged, SyncAcknowledged{}, `"heads":[]`},
		{ResultBlobStored, BlobStored{Hash: "h", Size: 1, MediaType: "image/png"}, `"hash":"h","size":1,"media_type":"image/png"`},
		{ResultBlobUploadCreated, BlobUploadCreated{UploadID: "u", PartSize: 1, ExpiresAt: "t"}, `"upload_id":"u","part_size":1,"expires_at":"t"`},
		{ResultBlobPartStored, BlobPartStored{UploadID: "u"}, `"upload_id":"u","part_number":0,"sha256":""`},
		{ResultBlobUploadAborted, BlobUploadAborted{UploadID: "u"}, `"upload_id":"u"`},
		{ResultBlobUploadError, BlobUploadError{Reason: BlobUploadReason{Kind: "over_cap"}}, `"reason":{"kind":"over_cap"}`},
	} {
		want := `{"id":"7","result":"` + c.result + `"`
		if c.want != "" {
			want += "," + c.want
		}
		got := text(EncodeResponse("7", c.result, c.body))
		if got != want+"}" {
			t.Errorf("%s\ngot  %s\nwant %s}", c.result, got, want)
		}
		r, err := DecodeResponse([]byte(got))
		if err != nil || r.ID != "7" || r.Result != c.result || string(r.Raw) != got {
			t.Errorf("%s is read as %+v, %v", got, r, err)
		}
	}
	if got := text(EncodeResponse("", ResultOK, nil)); got != `{"result":"ok"}` {
		t.Errorf("without an id: %s", got)
	}
	if _, err := EncodeResponse("1", ResultOK, []int{1}); err == nil {
		t.Error("a body that is a list was taken")
	}
	if _, err := EncodeResponse("1", ResultOK, func() {}); err == nil {
		t.Error("a body that is a function was taken")
	}
}

func TestResponseBodiesAreRead(t *testing.T) {
	r, err := DecodeResponse([]byte(`{"result":"notebook_saved","id":"1","path":"/p","exported_heads":["a"],"save_sequence":18446744073709551615,"new":1}`))
	if err != nil {
		t.Fatal(err)
	}
	var body NotebookSaved
	if err := r.Decode(&body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(NotebookSaved{Path: "/p", ExportedHeads: []string{"a"}, SaveSequence: 1<<64 - 1}, body); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{``, `[]`, `{"id":"1"}`, `{"result":5}`, `{"id":5,"result":"ok"}`} {
		if _, err := DecodeResponse([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if err := (Response{Raw: []byte(`{"path":5}`)}).Decode(&body); err == nil {
		t.Error("a path that is a number was taken")
	}
}

// TestRequestsCarryWhatDaemonsInsistOn: fields without which nteract's daemon
// refuses a request are there even if they are zero, and no others.
func TestRequestsCarryWhatDaemonsInsistOn(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{Action: ActionInterruptExecution}, `{"action":"interrupt_execution"}`},
		{Request{ID: "1", RequiredHeads: []string{"ab"}, Action: ActionExecuteCell, CellID: "c", ExecutionID: "e"}, `{"id":"1","required_heads":["ab"],"action":"execute_cell","cell_id":"c","execution_id":"e"}`},
		{Request{Action: ActionExecuteCellGuarded, CellID: "c"}, `{"action":"execute_cell_guarded","cell_id":"c","observed_heads":[]}`},
		{Request{Action: ActionRunAllCellsGuarded, ObservedHeads: []string{"ab"}}, `{"action":"run_all_cells_guarded","observed_heads":["ab"]}`},
		{Request{Action: ActionRunAllCells, CellExecutionIDs: map[string]string{"c": "e"}}, `{"action":"run_all_cells","cell_execution_ids":{"c":"e"}}`},
		{Request{Action: ActionApproveTrust}, `{"action":"approve_trust"}`},
		{Request{Action: ActionApproveTrust, ObservedHeads: []string{"ab"}}, `{"action":"approve_trust","observed_heads":["ab"]}`},
		{Request{Action: ActionSaveNotebook}, `{"action":"save_notebook","format_cells":false}`},
		{Request{Action: ActionSaveNotebook, FormatCells: true, Path: "/p", Overwrite: true}, `{"action":"save_notebook","path":"/p","runt_overwrite":true,"format_cells":true}`},
		{Request{Action: ActionComplete}, `{"action":"complete","code":"","cursor_pos":0}`},
		{Request{Action: ActionGetHistory}, `{"action":"get_history","n":0,"unique":false}`},
		{Request{Action: ActionLaunchKernel}, `{"action":"launch_kernel","kernel_type":"","env_source":""}`},
		{Request{Action: ActionCreateBlobUpload, MediaType: "m"}, `{"action":"create_blob_upload","media_type":"m","size":0}`},
		{Request{Action: ActionCompleteBlobUpload, UploadID: "u"}, `{"action":"complete_blob_upload","upload_id":"u","parts":[]}`},
		{Request{Action: ActionExecuteCode, Code: "1"}, `{"action":"runt_execute_code","code":"1"}`},
		{Request{Action: ActionSetKeepAlive, KeepAliveSecs: ptr(0)}, `{"action":"runt_set_keep_alive","runt_keep_alive_secs":0}`},
		{Request{Action: ActionSyncEnvironment, Guard: &DependencyGuard{ObservedHeads: []string{"a"}}}, `{"action":"sync_environment","guard":{"observed_heads":["a"]}}`},
	} {
		got := text(EncodeRequest(c.r))
		var a, b any
		if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(c.want), &b) != nil || !cmp.Equal(a, b) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		back, err := DecodeRequest([]byte(got))
		back.Raw = nil
		if len(back.ObservedHeads)+len(back.Parts) == 0 {
			back.ObservedHeads, back.Parts = nil, nil
		}
		if diff := cmp.Diff(c.r, back); err != nil || diff != "" {
			t.Errorf("%s is read back differently: %v\n%s", got, err, diff)
		}
	}
}

func TestRequestsAreRead(t *testing.T) {
	in := `{"action":"execute_cell","id":"1","cell_id":"c","execution_id":null,"required_heads":["a"],"new_field":{"x":1}}`
	r, err := DecodeRequest([]byte(in))
	if err != nil || r.CellID != "c" || r.ExecutionID != "" || string(r.Raw) != in {
		t.Errorf("%+v, %v", r, err)
	}
	for in, id := range map[string]string{
		`{"id":"7","action":"complete","cursor_pos":"x"}`: "7",
		`{"id":"7"}`:                   "7",
		`{"id":7,"action":"complete"}`: "",
		`nonsense`:                     "",
		`[]`:                           "",
	} {
		if r, err := DecodeRequest([]byte(in)); err == nil || r.ID != id || r.Action != "" {
			t.Errorf("%s: %+v, %v", in, r, err)
		}
	}
}

func TestConnectionInfo(t *testing.T) {
	info := ConnectionInfo{
		Protocol: ProtocolName, ProtocolVersion: ProtocolVersion, ActorLabel: "local:me/agent:x",
		Runt:       &Implementation{Name: "runt", Version: "1", Extensions: Extensions, Incarnation: "i"},
		NotebookID: "n", CellCount: 2, NotebookPath: "/p",
	}
	runt := `"runt":{"name":"runt","version":"1","extensions":1,"incarnation":"i"}`
	whole := `"protocol":"v4","protocol_version":4,"actor_label":"local:me/agent:x",` + runt +
		`,"notebook_id":"n","cell_count":2,"needs_trust_approval":false,"ephemeral":false,"notebook_path":"/p"}`
	for _, c := range []struct{ got, want string }{
		{text(info.MarshalTyped(KindConnectionInfo)), `{"type":"notebook_connection_info",` + whole},
		{text(info.MarshalUntyped(KindConnectionInfo)), `{` + whole},
		{text(info.MarshalTyped(KindCapabilities)), `{"type":"protocol_capabilities","protocol":"v4","protocol_version":4,"actor_label":"local:me/agent:x",` + runt + `}`},
		{text(info.MarshalTyped("x")), `error: encode connection info: unknown kind "x"`},
		{text(ConnectionInfo{Protocol: "v4", Error: "gone", ErrorCode: "notebook_unavailable"}.MarshalTyped(KindConnectionInfo)),
			`{"type":"notebook_connection_info","protocol":"v4","notebook_id":"","cell_count":0,"needs_trust_approval":false,"error":"gone","runt_code":"notebook_unavailable","ephemeral":false}`},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
	back, err := DecodeConnectionInfo([]byte(text(info.MarshalUntyped(KindConnectionInfo))))
	if diff := cmp.Diff(info, back); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestSyncStatusSaysWhenAPeerMayWork(t *testing.T) {
	for _, c := range []struct {
		doc, state, load string
		want             bool
	}{
		{PhaseInteractive, PhaseReady, PhaseNotNeeded, true},
		{PhaseInteractive, PhaseReady, PhaseReady, true},
		{PhaseInteractive, PhaseReady, PhaseStreaming, false},
		{PhaseInteractive, PhaseReady, PhaseFailed, false},
		{PhaseSyncing, PhaseReady, PhaseNotNeeded, false},
		{PhaseInteractive, PhaseSyncing, PhaseNotNeeded, false},
	} {
		if got := (SyncStatus{c.doc, c.state, InitialLoad{Phase: c.load}}).Ready(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if c, err := DecodeControl([]byte(`{"type":"tea_time","at":5}`)); err != nil || c != (Control{Type: "tea_time"}) {
		t.Errorf("unknown type: %+v, %v", c, err)
	}
	for _, bad := range []string{``, `{"type":1}`, `{"type":"sync_status","notebook_doc":1}`} {
		if _, err := DecodeControl([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestExecutionDone(t *testing.T) {
	e := ExecutionDone{ExecutionID: "e", CellID: "c", Status: StatusDone, ExecutionCount: ptr(int64(3)), Success: ptr(true), Seconds: 0.5}
	b := text(EncodeExecution(e))
	if want := `{"execution_id":"e","cell_id":"c","status":"done","execution_count":3,"success":true,"outputs":[],"seconds":0.5}`; b != want {
		t.Errorf("got %s", b)
	}
	e.Outputs = []json.RawMessage{}
	if back, err := DecodeExecution([]byte(b)); err != nil || !cmp.Equal(e, back) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	for _, bad := range []string{``, `{}`, `{"execution_id":"e","outputs":5}`} {
		if _, err := DecodeExecution([]byte(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestPoolMessages(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	for _, c := range []struct {
		typ  string
		body any
		want string
	}{
		{PoolShuttingDown, nil, `{"type":"shutting_down"}`},
		{PoolPong, Pong{ProtocolVersion: 4, DaemonVersion: "x"}, `{"type":"pong","protocol_version":4,"daemon_version":"x"}`},
		{PoolDaemonInfo, DaemonInfo{ProtocolVersion: 4, DaemonAPIVersion: 1, PID: 1, StartedAt: at, HTTPPort: 5}, `{"type":"daemon_info","protocol_version":4,"daemon_api_version":1,"daemon_version":"","pid":1,"started_at":"2026-01-02T03:04:05.0000006Z","runt_http_port":5}`},
		{PoolStats, PoolStatsBody{}, `{"type":"stats","state":{"uv":` + emptyPool + `,"conda":` + emptyPool + `,"pixi":` + emptyPool + `}}`},
		{PoolRoomsList, RoomsList{}, `{"type":"rooms_list","rooms":[]}`},
		{PoolNotebookShutdown, NotebookShutdown{}, `{"type":"notebook_shutdown","found":false}`},
		{PoolEnvPaths, ActiveEnvPaths{}, `{"type":"active_env_paths","paths":[]}`},
		{PoolError, PoolFailure{Message: "m"}, `{"type":"error","message":"m"}`},
		{PoolNoProjection, ProjectionUnavailable{NotebookID: "n", Failure: ProjectionFailure{Kind: "room_not_found"}}, `{"type":"notebook_projection_unavailable","notebook_id":"n","failure":{"kind":"room_not_found"}}`},
		{PoolNotebookState, NotebookState{NotebookID: "n"}, `{"type":"notebook_state","notebook_id":"n","cells":[],"outputs_by_cell":{},"source":"","kernel_info":null}`},
		{PoolRuntimeMetrics, RuntimeMetrics{}, `{"type":"runtime_metrics","num_workers":0,"num_alive_tasks":0,"global_queue_depth":0,"worker_busy_us":[],"worker_park_count":[],"uptime_us":0}`},
		{PoolExecutionResult, ExecutionResult{Record: ExecutionRecord{SchemaVersion: 1, CreatedAt: at, UpdatedAt: at}}, `{"type":"execution_result","record":{"schema_version":1,"execution_id":"","context_kind":"","context_id":"","status":"","outputs":[],"created_at":"2026-01-02T03:04:05.0000006Z","updated_at":"2026-01-02T03:04:05.0000006Z"}}`},
	} {
		if got := text(EncodePool(c.typ, c.body)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	var pong Pong
	if err := DecodePool([]byte(`{"type":"error","message":"no","runt_code":"internal"}`), PoolPong, &pong); err == nil || err.(*PoolFailure).Code != "internal" {
		t.Errorf("an error was read as %v", err)
	}
	if err := DecodePool([]byte(`{"type":"empty"}`), PoolPong, &pong); err == nil || !strings.Contains(err.Error(), "pong") {
		t.Errorf("another type was read as %v", err)
	}
	if err := DecodePool([]byte(`{"type":"pong","daemon_version":5}`), PoolPong, &pong); err == nil {
		t.Error("a version that is a number was taken")
	}
	if err := DecodePool([]byte(`{"type":"ok"}`), PoolOK, nil); err != nil {
		t.Error(err)
	}
}

const emptyPool = `{"available":0,"warming":0,"pool_size":0,"consecutive_failures":0,"retry_in_secs":0}`

func TestBroadcastsAndComms(t *testing.T) {
	b := Broadcast{Event: BroadcastComm, MsgType: "comm_msg", Content: json.RawMessage(`{"a":1}`), Buffers: []ByteArray{{1, 2}}}
	got := text(EncodeBroadcast(b))
	if want := `{"event":"comm","msg_type":"comm_msg","content":{"a":1},"buffers":[[1,2]]}`; got != want {
		t.Errorf("got %s", got)
	}
	if back, err := DecodeBroadcast([]byte(got)); err != nil || !cmp.Equal(b, back) {
		t.Errorf("read back as %+v, %v", back, err)
	}
	if back, err := DecodeBroadcast([]byte(`{"event":"bokeh_session_patch","patch":{},"content":5}`)); err != nil || back.Event != "bokeh_session_patch" {
		t.Errorf("another event: %+v, %v", back, err)
	}
	m, err := DecodeCommMessage([]byte(`{"header":{"msg_type":"comm_msg"},"content":{},"buffers":[[0,255]],"buffer_refs":[{"index":0,"blob":"ab","size":3}]}`))
	if err != nil || m.Channel != "shell" || m.Buffers[0][1] != 255 || m.BufferRefs[0].Blob != "ab" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := DecodeCommMessage([]byte(`{"buffers":[[256]]}`)); err == nil {
		t.Error("a byte of 256 was taken")
	}
}

func TestPutBlob(t *testing.T) {
	h := PutBlobHeader{Op: BlobPut, ID: "1", MediaType: "image/png", Size: 3, SHA256: "ab", Durability: Durable}
	b, err := EncodePutBlob(h, []byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"op":"put","id":"1","media_type":"image/png","size":3,"sha256":"ab","durability":"durable"}`; string(b[4:len(b)-3]) != want {
		t.Errorf("header %s", b[4:len(b)-3])
	}
	back, data, err := DecodePutBlob(b)
	if err != nil || !cmp.Equal(h, back) || string(data) != "\x01\x02\x03" {
		t.Errorf("%+v %v, %v", back, data, err)
	}
	part, err := EncodePutBlob(PutBlobHeader{Op: BlobPutPart, ID: "1", UploadID: "u", PartNumber: ptr(0)}, nil)
	if err != nil || !strings.Contains(string(part), `"part_number":0`) {
		t.Errorf("%s, %v", part, err)
	}
	if _, err := EncodePutBlob(h, make([]byte, MaxPutBlob)); err == nil {
		t.Error("a blob above the limit was taken")
	}
	for in, id := range map[string]string{
		"":                   "",
		"\x00\x00\x00":       "",
		"\xff\xff\xff\xff{}": "",
		"\x00\x00\x00\x03{}": "",
		"\x00\x00\x00\x02{}": "",
		"\x00\x00\x00\x13" + `{"id":"9","op":"x"}`:      "9",
		"\x00\x00\x00\x18" + `{"id":"9","size":"none"}`: "9",
	} {
		_, _, err := DecodePutBlob([]byte(in))
		e, ok := err.(*PutBlobError)
		if !ok || e.ID != id {
			t.Errorf("%q: %v (%+v)", in, err, e)
		}
	}
}
