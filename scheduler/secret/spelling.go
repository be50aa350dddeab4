package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/punctual-job/punctual/scheduler/expr"
)

// inJSON is how a text stands in JSON, itself first. Encoders agree on what must be escaped, and differ in what they escape beyond that.
func inJSON(text string) []string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("\"\\/<>&='", r) }) {
		return []string{text} // of a key of many lines all but a few are so
	}
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

// maxBase64 is the longest text whose base64 is looked for: what is masked travels with each run.
const maxBase64 = 4 << 10

// The widths at which programs break base64 into lines: base64 and MIME, and openssl and PEM.
var base64Lines = []int{76, 64}

// hexadecimals is a text as xxd, od and the loggers of bytes write it.
func hexadecimals(text string) []string {
	if len(text) > maxBase64 {
		return nil
	}
	small := hex.EncodeToString([]byte(text))
	return []string{small, strings.ToUpper(small)}
}

// inXML is a text as it stands in XML and HTML. Encoders differ in how they write quotes.
func inXML(text string) []string {
	must := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	return []string{
		must, html.EscapeString(text), // Go's
		strings.NewReplacer(`"`, "&quot;").Replace(must),                // Java's, JavaScript's serialisers
		strings.NewReplacer(`"`, "&quot;", "'", "&#x27;").Replace(must), // Python's
		strings.NewReplacer(`"`, "&quot;", "'", "&#039;").Replace(must), // PHP's
		strings.NewReplacer(`"`, "&quot;", "'", "&#39;").Replace(must),  // .NET's, many templates'
		strings.NewReplacer(`"`, "&quot;", "'", "&apos;").Replace(must), // XML's
	}
}

// inBase64Lines is the base64 of a text that is encoded by itself and broken into lines, a line each. What its last byte shares with what
// may come behind, as the line end that a shell's echo adds, stays.
func inBase64Lines(text string) (all []string) {
	if len(text) > maxBase64 {
		return nil
	}
	letters := base64.RawStdEncoding.EncodeToString([]byte(text))
	own := letters[:len(text)*8/6]
	for _, width := range base64Lines {
		if len(letters) <= width {
			continue
		}
		for of := range slices.Chunk([]byte(own), width) {
			all = append(all, string(of))
		}
		if ends := letters[len(letters)/width*width:]; ends != "" {
			all = append(all, ends+strings.Repeat("=", -len(letters)&3), ends)
		}
	}
	return all
}

// inBase64 is how a text stands in base64, also behind other bytes and before others, as a password does in the header of a request. What it says by
// itself of its first and last letter, which others are a part of, stays to be seen there: less than a byte.
func inBase64(text string) []string {
	if len(text) > maxBase64 {
		return nil
	}
	var all []string
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before, foreign := range []int{0, 2, 3} { // bytes before it, and the letters that these are a part of
			letters := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
			own := letters[min(foreign, len(letters)):max(min(foreign, len(letters)), (before+len(text))*8/6)]
			ends := letters[min(foreign, len(letters)):]
			padded := ends + strings.Repeat("=", -len(letters)&3)
			all = append(all, own, ends, padded, escape(own, "-_"), escape(padded, "-_"))
		}
	}
	return all
}

// inAddress is how a text stands in an address. Encoders differ in what they leave as it is beside letters and digits, in the space, and in the
// letters of their hexadecimals.
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
		plus := strings.ReplaceAll(escaped, "%20", "+")
		all = append(all, escaped, plus, lower(escaped), lower(plus))
	}
	return all
}

var hexadecimal = regexp.MustCompile("%[0-9A-F]{2}")

// lower writes the hexadecimals of an address in small letters.
func lower(escaped string) string { return hexadecimal.ReplaceAllStringFunc(escaped, strings.ToLower) }

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
