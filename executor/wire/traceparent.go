package wire

import "strings"

// HeaderTraceParent is the header of W3C Trace Context, by which a request says to which trace and span it belongs.
const HeaderTraceParent = "Traceparent"

// ParseTraceParent gives a trace context as version 00 of https://www.w3.org/TR/trace-context/ writes it, and "" where the text is none.
// A later version may add parts, which are left out.
func ParseTraceParent(text string) string {
	const size = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	if len(text) < size || len(text) > size && (text[:2] == "00" || text[size] != '-') {
		return ""
	}
	version, trace, span, flags := text[:2], text[3:35], text[36:52], text[53:size]
	if text[2] != '-' || text[35] != '-' || text[52] != '-' || version == "ff" {
		return ""
	}
	for _, part := range []string{version, trace, span, flags} {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return ""
		}
	}
	if strings.Trim(trace, "0") == "" || strings.Trim(span, "0") == "" {
		return ""
	}
	return "00" + text[2:size]
}
