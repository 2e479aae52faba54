package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Response is the answer to a request.
type Response struct {
	ID     string          // of the request
	Result string          // one of the Result constants
	Raw    json.RawMessage // the whole object; the fields of the body are beside the id
}

// EncodeResponse returns the body of a response frame: the fields of body
// beside id and result. body is a struct or a map, or nil for none.
func EncodeResponse(id, result string, body any) ([]byte, error) {
	b, err := flatten("result", result, id, body)
	if err != nil {
		return nil, fmt.Errorf("encode response %s: %w", result, err)
	}
	return b, nil
}

// DecodeResponse reads the body of a response frame. Raw is b itself.
func DecodeResponse(b []byte) (Response, error) {
	var head struct {
		ID     string `json:"id"`
		Result string `json:"result"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return Response{}, fmt.Errorf("decode response: %w", err)
	}
	if head.Result == "" {
		return Response{}, errors.New("decode response: no result")
	}
	return Response{ID: head.ID, Result: head.Result, Raw: b}, nil
}

// Decode reads the fields of the body into v, a pointer to one of the body types.
func (r Response) Decode(v any) error {
	if err := json.Unmarshal(r.Raw, v); err != nil {
		return fmt.Errorf("decode response %s: %w", r.Result, err)
	}
	return nil
}

// flatten returns the JSON object of body with the tag, and the id if there is
// one, before its fields.
func flatten(tagName, tag, id string, body any) ([]byte, error) {
	head := map[string]string{tagName: tag}
	if id != "" {
		head["id"] = id // sorts before every tag name
	}
	b, err := json.Marshal(head)
	if err != nil || body == nil {
		return b, err
	}
	fields, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(fields, []byte("{")) {
		return nil, fmt.Errorf("body is %T, not an object", body)
	}
	if string(fields) == "{}" {
		return b, nil
	}
	b[len(b)-1] = ','
	return append(b, fields[1:]...), nil
}

// ByteArray is bytes that are a list of numbers in JSON, as the protocol wants
// them in a few places.
type ByteArray []byte

// MarshalJSON writes the list of numbers.
func (a ByteArray) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2+4*len(a))
	b = append(b, '[')
	for i, x := range a {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Append(b, x)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads a list of numbers from 0 to 255.
func (a *ByteArray) UnmarshalJSON(b []byte) error {
	var n []uint16
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*a = make(ByteArray, len(n))
	for i, x := range n {
		if x > 255 {
			return fmt.Errorf("byte %d is %d", i, x)
		}
		(*a)[i] = byte(x)
	}
	return nil
}
