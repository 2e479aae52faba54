package toolspec

import "encoding/json"

// CapabilitiesJSON returns what the server offers, as the handshake says it: the
// proxy answers with it before there is a server.
func CapabilitiesJSON() json.RawMessage {
	return json.RawMessage(`{"completions":{},"logging":{},"prompts":{},"resources":{"subscribe":true},"tools":{}}`)
}
