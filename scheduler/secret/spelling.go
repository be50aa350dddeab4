package secret

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/expr"
)

// inJSON is how a text stands in JSON, itself first. Encoders agree on what must be escaped, and differ in what they escape beyond that.
func inJSON(text string) []string {
	must := plainJSON(text) // JavaScript's
	slashed := strings.ReplaceAll(must, "/", `\/`)
	return []string{
		text, must, expr.InJSON(text), // Go's
		slashed, inASCII(must), inASCII(slashed), // PHP's, Python's, PHP's unless told otherwise
		strings.NewReplacer("=", `\u003d`, "'", `\u0027`).Replace(expr.InJSON(text)), // Gson's
	}
}

// plainJSON escapes what has to be.
func plainJSON(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return "" // a text always encodes
	}
	return strings.TrimSuffix(b.String(), "\"\n")[1:]
}

// inASCII escapes what of a text in JSON is not ASCII.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// inAddress is how a text stands in an address. Encoders differ in what they leave as it is beside letters and digits, and in the space.
func inAddress(text string) []string {
	var all []string
	for _, keep := range []string{
		"-_.~",                 // RFC 3986: PHP's rawurlencode; with +: Go's, Python's
		"-_.~$&+:=@",           // a part of a path: Go's
		"-_.~/",                // Python's quote
		"-_.~!*'()",            // encodeURIComponent
		"-_.~!*'();/?:@&=+$,#", // encodeURI
		"-_.",                  // with +: PHP's urlencode
		"-_.*",                 // with +: Java's
	} {
		escaped := escape(text, keep)
		all = append(all, escaped, strings.ReplaceAll(escaped, "%20", "+"))
	}
	return all
}

func escape(text, keep string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
