package wire

import (
	"bytes"
	"unicode/utf8"
)

// Executors of eras R0 to R2 (2.0.0 to 2.1.2) are not served, but recognised, so that somebody can be told. What they send is
// one Hessian2 object; of it only the texts are read that say who they are.

// isHessian reports whether a body is a request or an answer of the old protocol.
func isHessian(body []byte) bool {
	return len(body) > 0 && body[0] == 'C' && bytes.Contains(body[:min(len(body), 128)], []byte("com.xxl.rpc."))
}

// DecodeOldCall reads who sent a call of the old protocol. Only a registration says it; ok is true for every call of it.
func DecodeOldCall(body []byte) (from RegistryRequest, ok bool) {
	if !isHessian(body) {
		return from, false
	}
	const group = "\x08EXECUTOR" // a text with its length before it; the app name and the address follow
	_, rest, found := bytes.Cut(body, []byte(group))
	if !found {
		return from, true
	}
	key, rest := hessianText(rest)
	value, _ := hessianText(rest)
	if key != "" && value != "" {
		from = RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: key, RegistryValue: value}
	}
	return from, true
}

// hessianText reads a text of up to 1023 ASCII characters, "" if there is none.
func hessianText(b []byte) (text string, rest []byte) {
	n, at := 0, 1
	switch {
	case len(b) > 0 && b[0] < 0x20:
		n = int(b[0])
	case len(b) > 1 && b[0] >= 0x30 && b[0] < 0x34:
		n, at = int(b[0]-0x30)<<8|int(b[1]), 2
	default:
		return "", nil
	}
	if len(b) < at+n || !utf8.Valid(b[at:at+n]) {
		return "", nil
	}
	return string(b[at : at+n]), b[at+n:]
}
