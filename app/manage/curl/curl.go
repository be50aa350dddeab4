// Package curl makes the call of an HTTP job out of a curl command, as documentation has them and browsers copy them. Nothing is run, no
// file is read. What an HTTP job cannot do is named in the notes, and what is secret is replaced by the name of a secret to be made.
package curl

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/executor/httpcall"
)

// MaxText is the longest command that is read.
const MaxText = 64 << 10

// maxName bounds what stands in a name of a URL, which is ASCII but for its host.
const maxName = 200

// Reason is why a command is not taken, and Kind what a note is about.
type (
	Reason string
	Kind   string
)

// Faults: the command is not taken.
const (
	NotCurl   Reason = "notcurl"   // it does not begin with curl
	Quote     Reason = "quote"     // Text is a quote without its end
	Shell     Reason = "shell"     // Text is where a shell would begin something else
	Cmd       Reason = "cmd"       // it is for Windows' command prompt
	Expansion Reason = "expansion" // Text is something that a shell would work out
	Option    Reason = "option"    // Text is an option that curl is not known to have
	Missing   Reason = "missing"   // Text is an option without its value
	URLs      Reason = "urls"      // there is no URL, or more than one
	Long      Reason = "long"
	Bytes     Reason = "bytes" // it has bytes that are no text
	Invalid   Reason = "call"  // Text says why the call cannot be made
)

// Notes: the rest is taken.
const (
	LeftOut  Kind = "leftout"  // Text is an option that means nothing to an HTTP job
	Insecure Kind = "insecure" // Text is the option that switches the check of certificates off
	File     Kind = "file"     // Text is an option that names a file
	Own      Kind = "own"      // Text is a header that Punctual sends itself
	Glob     Kind = "glob"     // the URL stands for several
	Secret   Kind = "secret"   // the value of Text belongs into the secret Name
	Basic    Kind = "basic"    // user:password in Base64 belongs into the secret Name
	Variable Kind = "variable" // the value of the variable Text belongs into the secret Name
	Encoded  Kind = "encoded"  // what the option Text would encode belongs into its secrets encoded
)

// Fault is why a command is not taken.
type Fault struct {
	Kind Reason
	Text string
}

func (f *Fault) Error() string { return "curl command: " + string(f.Kind) + " " + f.Text }

// Note is something that somebody must know of an import. It never has a value that may be secret.
type Note struct {
	Kind Kind
	Text string
	Name string // of a secret
}

// Import is what a command becomes.
type Import struct {
	Name    string // for the job: method, host and path
	Param   string
	Retries int // -1: it says nothing of them
	Notes   []Note
}

// Parse reads a command. The error is a [Fault].
func Parse(text string) (Import, error) {
	if len(text) > MaxText {
		return Import{}, &Fault{Kind: Long}
	}
	text = strings.TrimPrefix(strings.TrimSpace(text), "$ ")
	list, variables, err := split(text)
	if err != nil {
		return Import{}, err
	}
	if len(list) == 0 || !slices.Contains([]string{"curl", "curl.exe"}, path.Base(strings.ToLower(list[0]))) {
		return Import{}, &Fault{Kind: NotCurl}
	}
	for _, word := range list {
		if !utf8.ValidString(word) || strings.ContainsRune(word, 0) {
			return Import{}, &Fault{Kind: Bytes}
		}
	}
	c := command{retries: -1}
	if err := c.read(list[1:]); err != nil {
		return Import{}, err
	}
	return c.result(variables)
}

// command is a command as far as it is read.
type command struct {
	method, user, bearer     string
	hasUser, get, head, glob bool
	asIs                     bool // --path-as-is
	json, upload             bool // --json, -T
	urls, data, query        []string
	hasData                  bool
	parts                    []part // of -F
	hasParts                 bool
	headers                  []header
	timeout                  int // milliseconds
	retries                  int
	notes                    []Note
	secrets                  secrets
}

// header is a header, and whether an option other than -H stands for it: -H goes before those.
type header struct {
	name, value string
	implied     bool
}

// part is one of a form of several parts.
type part struct{ name, contentType, value string }

func (c *command) note(kind Kind, text string) {
	if n := (Note{Kind: kind, Text: text}); !slices.Contains(c.notes, n) {
		c.notes = append(c.notes, n)
	}
}

// read takes the options one by one, as curl does: -sXPOST is -s -X POST.
func (c *command) read(args []string) error {
	onlyURLs := false
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case onlyURLs || arg == "-" || !strings.HasPrefix(arg, "-"):
			c.urls = append(c.urls, arg)
		case arg == "--":
			onlyURLs = true
		case strings.HasPrefix(arg, "--"):
			o, ok := lookUp(arg[2:])
			if !ok {
				return &Fault{Kind: Option, Text: firstLine(arg)}
			}
			value := ""
			if o.value {
				if len(args) == 0 {
					return &Fault{Kind: Missing, Text: arg}
				}
				value, args = args[0], args[1:]
			}
			c.take(o.name, arg, value)
		default:
			for rest := arg[1:]; rest != ""; {
				r, size := utf8.DecodeRuneInString(rest)
				o, ok := shorts[r]
				if !ok {
					return &Fault{Kind: Option, Text: "-" + string(r)}
				}
				rest = rest[size:]
				value := ""
				if o.value {
					switch {
					case rest != "":
						value, rest = rest, ""
					case len(args) == 0:
						return &Fault{Kind: Missing, Text: "-" + string(r)}
					default:
						value, args = args[0], args[1:]
					}
				}
				c.take(o.name, "-"+string(r), value)
			}
		}
	}
	return nil
}

// take does what an option says; as is how it was written.
func (c *command) take(name, as, value string) {
	switch name {
	case "request":
		c.method = value
	case "url":
		c.urls = append(c.urls, value)
	case "get":
		c.get = true
	case "head":
		c.head = true
	case "path-as-is":
		c.asIs = true
	case "globoff":
		c.glob = true
	case "header":
		c.header(as, value)
	case "user-agent":
		c.imply("User-Agent", value)
	case "referer":
		c.imply("Referer", strings.TrimSuffix(value, ";auto"))
	case "cookie":
		if !strings.Contains(value, "=") {
			c.note(File, as)
		} else {
			c.imply("Cookie", value)
		}
	case "user":
		c.user, c.hasUser = value, true
	case "oauth2-bearer":
		c.bearer = value
	case "insecure":
		c.note(Insecure, as)
	case "data", "data-ascii", "data-binary", "json":
		c.json = c.json || name == "json"
		if strings.HasPrefix(value, "@") {
			c.note(File, as)
			value = "" // and a call with a body all the same
		}
		c.body(value, name == "json")
	case "data-raw":
		c.body(value, false)
	case "data-urlencode":
		c.body(c.urlencode(as, value), false)
	case "url-query":
		if plain, ok := strings.CutPrefix(value, "+"); ok {
			c.query = append(c.query, plain)
		} else {
			c.query = append(c.query, c.urlencode(as, value))
		}
	case "form", "form-string":
		c.part(as, value, name == "form")
	case "upload-file":
		c.upload = true
		c.note(File, as)
	case "max-time":
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil || !(seconds >= 0 && seconds <= httpcall.MaxTimeout.Seconds()) {
			c.note(LeftOut, as)
			return
		}
		c.timeout = int(math.Ceil(seconds * float64(time.Second/time.Millisecond)))
	case "retry":
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n <= 100 {
			c.retries = n
		} else {
			c.note(LeftOut, as)
		}
	default:
		if !slices.Contains(asWeDo, name) {
			c.note(LeftOut, as)
		}
	}
}

// body adds a part: parts of JSON follow each other, others are joined by &.
func (c *command) body(part string, json bool) {
	if c.hasData && json {
		c.data[len(c.data)-1] += part
	} else {
		c.data = append(c.data, part)
	}
	c.hasData = true
}

// ours are the headers that belong to the connection.
var ours = []string{"Accept-Encoding", "Connection", "Content-Length", "Transfer-Encoding", "Keep-Alive", "Te", "Upgrade", "Proxy-Connection", "Expect"}

func (c *command) header(as, text string) {
	if strings.HasPrefix(text, "@") {
		c.note(File, as)
		return
	}
	name, value, ok := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	if !ok { // "Name;" sends it empty
		if name, ok = strings.CutSuffix(name, ";"); !ok {
			c.note(LeftOut, as) // and not its text, which may be a token
			return
		}
	} else if value == "" { // "Name:" takes one of curl's own away
		c.note(LeftOut, as+" "+firstLine(name)+":")
		return
	}
	name = strings.TrimSpace(name)
	if slices.Contains(ours, http.CanonicalHeaderKey(name)) {
		c.note(Own, firstLine(name))
		return
	}
	c.headers = append(c.headers, header{name, value, false})
}

// imply adds a header that an option stands for. Of such, curl sends the last; of cookies, all.
func (c *command) imply(name, value string) {
	for i, h := range c.headers {
		if h.implied && h.name == name {
			if name == "Cookie" {
				value = h.value + ";" + value
			}
			c.headers[i].value = value
			return
		}
	}
	c.headers = append(c.headers, header{name, value, true})
}

// urlencode is the value of --data-urlencode. That of a file is not known.
func (c *command) urlencode(as, value string) string {
	name, text := "", value
	if i := strings.IndexAny(value, "=@"); i >= 0 {
		if value[i] == '@' {
			c.note(File, as)
			return ""
		}
		name, text = value[:i], value[i+1:]
		if name != "" {
			name += "="
		}
	}
	switch encoded := url.QueryEscape(text); {
	case strings.Contains(text, "${{"): // an expression is put in later, as it is
		c.note(Encoded, as)
		return name + text
	case encoded != text && sounds(strings.TrimSuffix(name, "=")): // it will stand in a secret
		c.note(Encoded, as)
		return name + encoded
	default:
		return name + encoded
	}
}

// part reads a value of -F: name=text, and after it perhaps its type.
func (c *command) part(as, value string, options bool) {
	c.hasParts = true
	name, text, ok := strings.Cut(value, "=")
	if !ok {
		c.note(LeftOut, as)
		return
	}
	p := part{name: name, value: text}
	if options {
		if strings.HasPrefix(text, "@") || strings.HasPrefix(text, "<") {
			c.note(File, as)
			return
		}
		text, rest := unquote(text)
		p.value = text
		for option := range strings.SplitSeq(rest, ";") {
			if option = strings.TrimSpace(option); strings.HasPrefix(option, "type=") {
				p.contentType = option[len("type="):]
			} else if option != "" {
				c.note(LeftOut, as)
			}
		}
	}
	c.parts = append(c.parts, p)
}

// unquote reads the text of a part, which may stand in double quotes, and answers with what comes after it.
func unquote(text string) (value, rest string) {
	quoted, ok := strings.CutPrefix(text, `"`)
	if !ok {
		value, rest, _ = strings.Cut(text, ";")
		return value, rest
	}
	var b strings.Builder
	for i := 0; i < len(quoted); i++ {
		switch ch := quoted[i]; {
		case ch == '"':
			return b.String(), strings.TrimPrefix(quoted[i+1:], ";")
		case ch == '\\' && i+1 < len(quoted) && strings.IndexByte(`"\`, quoted[i+1]) >= 0:
			i++
			b.WriteByte(quoted[i])
		default:
			b.WriteByte(ch)
		}
	}
	return text, "" // a quote without its end is a part of the text
}

// boundary stands between the parts of a form. It is longer than what somebody would write by chance.
const boundary = "----punctual-5b0f6c1e9d7a4f2f8f35"

// multipart is the body that the parts of -F make.
func (c *command) multipart() string {
	var b strings.Builder
	if len(c.parts) == 0 {
		return ""
	}
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary(boundary) // it is a good one, and a builder takes everything
	for _, p := range c.parts {
		head := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + quoteName.Replace(p.name) + `"`}}
		if p.contentType != "" {
			head.Set("Content-Type", p.contentType)
		}
		value := p.value
		if value != "" && sounds(p.name) {
			value = c.secrets.add(Secret, p.name, p.name, value)
		}
		to, _ := w.CreatePart(head)
		_, _ = io.WriteString(to, value)
	}
	_ = w.Close()
	return b.String()
}

// quoteName writes what would end the name of a part as browsers do.
var quoteName = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")

// result makes the call.
func (c *command) result(variables []string) (Import, error) {
	if len(c.urls) != 1 {
		return Import{}, &Fault{Kind: URLs}
	}
	body := strings.Join(c.data, "&")
	call := httpcall.Call{Method: c.method, Timeout: c.timeout, Headers: map[string]string{}}
	if call.Method == "" {
		switch {
		case c.head:
			call.Method = http.MethodHead
		case c.upload:
			call.Method = http.MethodPut
		case c.hasData && !c.get, c.hasParts:
			call.Method = http.MethodPost
		default:
			call.Method = http.MethodGet
		}
	}
	call.Method = strings.ToUpper(call.Method)
	if c.get && c.hasData {
		c.query, body, c.hasData = append(c.query, body), "", false
	}
	host := c.address(&call)
	c.secrets.prefix = host
	call.URL = c.secrets.inURL(call.URL)
	if c.hasData {
		call.ContentType = "application/x-www-form-urlencoded"
	}
	if c.hasParts {
		if c.hasData {
			c.note(LeftOut, "-d")
		}
		body, call.ContentType = c.multipart(), "multipart/form-data; boundary="+boundary
	}
	if c.json {
		call.ContentType = "application/json"
		call.Headers["Accept"] = "application/json"
	}
	if c.hasUser {
		call.Auth = "Basic " + c.secrets.add(Basic, "Authorization", "BASIC", c.user)
	}
	if c.bearer != "" {
		call.Auth = "Bearer " + c.secrets.add(Secret, "Authorization", "TOKEN", c.bearer)
	}
	c.putHeaders(&call)
	if !c.hasParts {
		body = c.secrets.inBody(body)
	}
	in := Import{Retries: c.retries, Name: call.Method + " " + address(call.URL), Param: parameter(call, body)}
	if _, err := httpcall.Check(in.Param); err != nil {
		f, ok := errors.AsType[*httpcall.Fault](err)
		if !ok {
			return Import{}, err
		}
		return Import{}, &Fault{Kind: Invalid, Text: f.Error()}
	}
	in.Notes = append(c.notes, c.secrets.notes...)
	for _, v := range variables {
		if strings.Contains(in.Param, named(v)) {
			in.Notes = append(in.Notes, Note{Kind: Variable, Text: v, Name: v})
		}
	}
	return in, nil
}

// address sets the URL: with a scheme, without a user, with what -G and --url-query add. It answers the host.
func (c *command) address(call *httpcall.Call) string {
	text := c.urls[0]
	if !c.glob {
		plain := text
		for _, b := range []string{"[", "]", "{", "}"} { // browsers write \[ for what curl would read as a range
			plain = strings.ReplaceAll(plain, `\`+b, b)
		}
		unescaped := text
		for _, b := range []string{`\[`, `\]`, `\{`, `\}`} {
			unescaped = strings.ReplaceAll(unescaped, b, "")
		}
		if u, err := url.Parse(withoutExpressions(unescaped)); err == nil && strings.ContainsAny(u.Path+u.RawQuery, "[]{}") {
			c.note(Glob, "[]{}")
		}
		text = plain
	}
	if !strings.Contains(text, "://") {
		text = guess(text) + "://" + text
	}
	if len(c.query) > 0 {
		before, fragment, has := strings.Cut(text, "#")
		join := "?"
		switch {
		case !strings.Contains(before, "?"):
		case strings.HasSuffix(before, "?"), strings.HasSuffix(before, "&"):
			join = ""
		default:
			join = "&"
		}
		if text = before + join + strings.Join(c.query, "&"); has {
			text += "#" + fragment
		}
	}
	call.URL = text
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if !c.asIs && !strings.Contains(text, "${{") && strings.Contains(u.Path, "/.") { // curl goes up by itself
		u = u.ResolveReference(u)
		text = u.String()
		call.URL = text
	}
	if u.User != nil {
		if !c.hasUser {
			password, _ := u.User.Password()
			c.user, c.hasUser = u.User.Username()+":"+password, true
		}
		scheme, rest, _ := strings.Cut(text, "://")
		end := len(rest)
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			end = i
		}
		call.URL = scheme + "://" + rest[strings.LastIndexByte(rest[:end], '@')+1:]
	}
	return u.Hostname()
}

// guess is the scheme that curl takes an address without one to have.
func guess(address string) string {
	for _, scheme := range []string{"ftp", "dict", "ldap", "imap", "smtp", "pop3"} {
		if len(address) > len(scheme) && strings.EqualFold(address[:len(scheme)+1], scheme+".") {
			return scheme
		}
	}
	return "http"
}

// address is a URL for a name: host and path.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	text = u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
	return strings.ToValidUTF8(text[:min(len(text), maxName)], "")
}

// putHeaders sorts the headers into the parts of a call. One that is there twice is sent once, with both values; of two types or two
// logins the last counts.
func (c *command) putHeaders(call *httpcall.Call) {
	spelt := map[string]string{} // by canonical name
	own := map[string]bool{}     // were written, and not implied
	for _, h := range c.headers {
		key := http.CanonicalHeaderKey(h.name)
		if h.implied && h.value == "" && key == "Referer" { // -e '' takes back the one before
			continue
		}
		if h.implied && slices.ContainsFunc(c.headers, func(o header) bool { return !o.implied && http.CanonicalHeaderKey(o.name) == key }) {
			continue
		}
		switch key {
		case "Content-Type", "Authorization":
			if own[key] {
				c.note(LeftOut, "-H "+key)
			}
			own[key] = true
		}
		switch key {
		case "Content-Type":
			if h.value == "" { // a body has one here
				c.note(LeftOut, "-H "+key)
				continue
			}
			call.ContentType = h.value
		case "Authorization":
			scheme, rest, ok := strings.Cut(h.value, " ")
			if rest = strings.TrimSpace(rest); ok && rest != "" {
				call.Auth = scheme + " " + c.secrets.add(Secret, key, suffixOf(scheme), rest)
			} else {
				call.Auth = c.secrets.add(Secret, key, "AUTHORIZATION", h.value)
			}
		default:
			if sounds(h.name) && h.value != "" {
				h.value = c.secrets.add(Secret, h.name, h.name, h.value)
			}
			name, there := spelt[key]
			if !there {
				name, spelt[key] = h.name, h.name
			}
			join := ", "
			if key == "Cookie" {
				join = "; "
			}
			if own[key] {
				h.value = call.Headers[name] + join + h.value
			}
			if key == "Accept" && name != "Accept" {
				delete(call.Headers, "Accept")
			}
			call.Headers[name], own[key] = h.value, true
		}
	}
}

func suffixOf(scheme string) string {
	if strings.EqualFold(scheme, "Basic") {
		return "BASIC"
	}
	return "TOKEN"
}

// parameter is a call as a parameter. A body that is JSON stands there as JSON, so that a secret in it is put in as JSON has it. One that ends its
// line is one of many, as bulk calls have them, and stays a line.
func parameter(call httpcall.Call, body string) string {
	if strings.HasSuffix(body, "\n") || !strings.HasPrefix(strings.TrimSpace(body), "{") && !strings.HasPrefix(strings.TrimSpace(body), "[") || !json.Valid([]byte(body)) {
		call.Data = httpcall.Body(body)
		return call.String()
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(struct { // texts and what was found to be JSON always encode
		httpcall.Call
		Data json.RawMessage `json:"data"`
	}{call, json.RawMessage(body)})
	return strings.TrimSuffix(b.String(), "\n")
}
