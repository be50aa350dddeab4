// Package httpcall is the parameter of httpJobHandler: a description of one HTTP call, as a person or a program writes it.
package httpcall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Handler is the name of the job handler that makes these calls.
const Handler = "httpJobHandler"

// Call is one call, in the form of every release of XXL-JOB (docs/compat.md §4.18): JSON, or up to 2.5.0 lines
// "url: …", "method: …", "data: …". Expected is ours, in both forms; Text is, in JSON.
type Call struct {
	URL         string            `json:"url"`
	Method      string            `json:"method,omitempty"` // JSON: POST without one; lines: GET
	ContentType string            `json:"contentType,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Cookies     map[string]string `json:"cookies,omitempty"`
	Timeout     int               `json:"timeout,omitempty"` // milliseconds
	Data        Body              `json:"data,omitempty"`
	Form        map[string]string `json:"form,omitempty"` // takes the place of data; of GET and HEAD it becomes the query
	Auth        string            `json:"auth,omitempty"` // the Authorization header
	Expected    Statuses          `json:"expectedStatus,omitempty"`
	Text        string            `json:"expectedText,omitempty"` // must stand in the answer
	Async       bool              `json:"async,omitempty"`        // 202 means that the end is reported later, under the address of [CallbackHeader]
}

// CallbackHeader tells the target of an asynchronous call where it reports the end.
const CallbackHeader = "Punctual-Callback"

// The names of the parts of a call that a [Fault] is about.
const (
	FieldURL      = "url"
	FieldMethod   = "method"
	FieldHeaders  = "headers"
	FieldTimeout  = "timeout"
	FieldExpected = "expectedStatus"
	FieldUnknown  = "unknown" // a field that there is not
)

// MaxTimeout is the longest that an answer is waited for.
const MaxTimeout = time.Hour

// Fault is what is wrong with a call.
type Fault struct {
	Field string // "" for the whole
	Value string
	text  string
}

func (f *Fault) Error() string { return f.text }

func fault(field, value, format string, args ...any) error {
	return &Fault{Field: field, Value: value, text: fmt.Sprintf(format, args...)}
}

// Methods are the methods that a call may have.
func Methods() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions}
}

// Parse reads a parameter. The error is a [Fault].
func Parse(param string) (Call, error) {
	var call Call
	param = strings.TrimSpace(param)
	if strings.HasPrefix(param, "{") {
		if err := json.Unmarshal([]byte(param), &call); err != nil {
			if f := (*Fault)(nil); errors.As(err, &f) {
				return call, f
			}
			return call, fault("", "", "parameter is not JSON as expected: %v", err)
		}
		call.Method = cmp.Or(strings.TrimSpace(call.Method), http.MethodPost)
	} else if err := call.readLines(param); err != nil {
		return call, err
	}
	call.Method = strings.ToUpper(call.Method)
	u, err := url.Parse(strings.TrimSpace(call.URL))
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return call, fault(FieldURL, call.URL, "url[%s] is not an http or https address", call.URL)
	}
	call.URL = u.String()
	if !slices.Contains(Methods(), call.Method) {
		return call, fault(FieldMethod, call.Method, "method[%s] is not known", call.Method)
	}
	return call, nil
}

// Check is [Parse] for what is about to be stored: it also finds what would fail only when the call is made.
func Check(param string) (Call, error) {
	call, err := Parse(param)
	if err != nil {
		return call, err
	}
	if name := unknown(param); name != "" { // the call would be made without it, or without what it says of the answer
		return call, fault(FieldUnknown, name, "there is no field %q", name)
	}
	for name, value := range call.Headers {
		if call.Async && strings.EqualFold(name, CallbackHeader) {
			return call, fault(FieldHeaders, name, "header %s is set by an asynchronous call itself", CallbackHeader)
		}
		if !token(name) || strings.ContainsAny(value, "\r\n\x00") {
			return call, fault(FieldHeaders, name, "header %q is none", name)
		}
	}
	if strings.ContainsAny(call.Auth, "\r\n\x00") {
		return call, fault(FieldHeaders, "Authorization", "header Authorization is none")
	}
	if call.Timeout < 0 || time.Duration(call.Timeout)*time.Millisecond > MaxTimeout {
		return call, fault(FieldTimeout, strconv.Itoa(call.Timeout), "timeout is at most %v", MaxTimeout)
	}
	return call, nil
}

// Fields are the names of the parts of a call in JSON.
func Fields() []string {
	var names []string
	for i, t := 0, reflect.TypeOf(Call{}); i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// unknown is the first name in a call of JSON that no part of it has, or "". As when it is read, capitals do not matter.
func unknown(param string) string {
	var parts map[string]json.RawMessage
	if json.Unmarshal([]byte(param), &parts) != nil {
		return "" // lines
	}
	var names []string
	for name := range parts {
		if !slices.ContainsFunc(Fields(), func(known string) bool { return strings.EqualFold(known, name) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names[:min(1, len(names))], "")
}

// token says whether a text can be the name of a header.
func token(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

// String is a call as a parameter.
func (c Call) String() string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(c) // texts always encode
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *Call) readLines(param string) error {
	c.Method = http.MethodGet
	for _, line := range strings.Split(param, "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(name)) {
		case "url":
			c.URL = value
		case "method":
			c.Method = value
		case "data":
			c.Data = Body(value)
		case "expectedstatus":
			var err error
			if c.Expected, err = ParseStatuses(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Request makes the request.
func (c *Call) Request(ctx context.Context) (*http.Request, error) {
	body, contentType := []byte(c.Data), cmp.Or(c.ContentType, "application/json")
	target := c.URL
	if len(c.Form) > 0 {
		values := url.Values{}
		for name, value := range c.Form {
			values.Set(name, value)
		}
		if c.Method == http.MethodGet || c.Method == http.MethodHead {
			u, err := url.Parse(c.URL)
			if err != nil {
				return nil, err
			}
			u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+values.Encode(), "&")
			target, body = u.String(), nil
		} else {
			body, contentType = []byte(values.Encode()), "application/x-www-form-urlencoded"
		}
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "punctual")
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	}
	if c.Auth != "" {
		req.Header.Set("Authorization", c.Auth)
	}
	for name, value := range c.Headers {
		if strings.EqualFold(name, "Host") {
			req.Host = value // net/http takes it from here only
			continue
		}
		if strings.EqualFold(name, "Accept-Encoding") && !strings.EqualFold(strings.TrimSpace(value), "identity") {
			continue // net/http asks for what it reads; in what it does not, nobody finds a text or masks a secret
		}
		req.Header.Set(name, value)
	}
	for name, value := range c.Cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return req, nil
}

// Body is a text, or JSON that is sent as it stands in the parameter.
type Body string

func (b *Body) UnmarshalJSON(text []byte) error {
	switch {
	case bytes.Equal(text, []byte("null")):
		return nil
	case text[0] == '"':
		return json.Unmarshal(text, (*string)(b))
	}
	*b = Body(text)
	return nil
}

// Statuses are HTTP status codes and ranges of them; none stands for 200 to 299.
type Statuses []statusRange

type statusRange struct{ from, to int }

// UnmarshalJSON reads 204, "200,3xx", "200-204", or a list of these.
func (s *Statuses) UnmarshalJSON(text []byte) error {
	text = bytes.Trim(bytes.ReplaceAll(text, []byte(`"`), nil), "[]")
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	parsed, err := ParseStatuses(string(text))
	*s = parsed
	return err
}

func errStatus(text string) error {
	return fault(FieldExpected, text, "expectedStatus is like 204, 2xx, 200-204 or a list of these")
}

// ParseStatuses reads a list of codes and ranges.
func ParseStatuses(text string) (Statuses, error) {
	var s Statuses
	for _, item := range strings.Split(strings.ToLower(text), ",") {
		item = strings.TrimSpace(item)
		var r statusRange
		from, to, isRange := strings.Cut(item, "-")
		switch {
		case item == "":
			continue
		case len(item) == 3 && strings.HasSuffix(item, "xx"):
			r.from = 100 * int(item[0]-'0')
			r.to = r.from + 99
		default:
			var err1, err2 error
			r.from, err1 = strconv.Atoi(strings.TrimSpace(from))
			r.to = r.from
			if isRange {
				r.to, err2 = strconv.Atoi(strings.TrimSpace(to))
			}
			if err1 != nil || err2 != nil {
				return nil, errStatus(text)
			}
		}
		if r.from < 100 || r.to > 599 || r.from > r.to {
			return nil, errStatus(text)
		}
		s = append(s, r)
	}
	return s, nil
}

// Names says whether the code was asked for expressly.
func (s Statuses) Names(code int) bool {
	return slices.ContainsFunc(s, func(r statusRange) bool { return r.from <= code && code <= r.to })
}

// Holds says whether a code is among the expected.
func (s Statuses) Holds(code int) bool {
	return s.Names(code) || len(s) == 0 && code >= 200 && code <= 299
}

// String lists the codes.
func (s Statuses) String() string {
	if len(s) == 0 {
		return "200-299"
	}
	var parts []string
	for _, r := range s {
		if r.from == r.to {
			parts = append(parts, strconv.Itoa(r.from))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r.from, r.to))
		}
	}
	return strings.Join(parts, ",")
}

// MarshalJSON writes the list as a text.
func (s Statuses) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
