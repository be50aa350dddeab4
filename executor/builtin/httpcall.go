package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// httpCall is the parameter of httpJobHandler, in the form of every release (docs/compat.md §4.18): JSON, or up to 2.5.0 lines
// "url: …", "method: …", "data: …". Expected is ours, in both forms.
type httpCall struct {
	URL         string            `json:"url"`
	Method      string            `json:"method"` // JSON: POST without one; lines: GET
	ContentType string            `json:"contentType"`
	Headers     map[string]string `json:"headers"`
	Cookies     map[string]string `json:"cookies"`
	Timeout     int               `json:"timeout"` // milliseconds
	Data        looseBody         `json:"data"`
	Form        map[string]string `json:"form"` // takes the place of data; of GET and HEAD it becomes the query
	Auth        string            `json:"auth"` // the Authorization header
	Expected    statuses          `json:"expectedStatus"`
}

func parseCall(param string) (httpCall, error) {
	var call httpCall
	param = strings.TrimSpace(param)
	if strings.HasPrefix(param, "{") {
		if err := json.Unmarshal([]byte(param), &call); err != nil {
			return call, fmt.Errorf("parameter is not JSON as expected: %w", err)
		}
		call.Method = cmp.Or(strings.TrimSpace(call.Method), http.MethodPost)
	} else if err := call.readLines(param); err != nil {
		return call, err
	}
	call.Method = strings.ToUpper(call.Method)
	u, err := url.Parse(strings.TrimSpace(call.URL))
	if err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return call, fmt.Errorf("url[%s] is not an http or https address", call.URL)
	}
	call.URL = u.String()
	switch call.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodHead, http.MethodOptions:
		return call, nil
	}
	return call, fmt.Errorf("method[%s] is not known", call.Method)
}

func (c *httpCall) readLines(param string) error {
	c.Method = http.MethodGet
	for _, line := range strings.Split(param, "\n") {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(name)) {
		case "url":
			c.URL = value
		case "method":
			c.Method = value
		case "data":
			c.Data = looseBody(value)
		case "expectedstatus":
			var err error
			if c.Expected, err = parseStatuses(value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *httpCall) request(ctx context.Context) (*http.Request, error) {
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
		req.Header.Set(name, value)
	}
	for name, value := range c.Cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return req, nil
}

// looseBody is a text, or JSON that is sent as it stands in the parameter.
type looseBody string

// UnmarshalJSON implements json.Unmarshaler.
func (b *looseBody) UnmarshalJSON(text []byte) error {
	switch {
	case bytes.Equal(text, []byte("null")):
		return nil
	case text[0] == '"':
		return json.Unmarshal(text, (*string)(b))
	}
	*b = looseBody(text)
	return nil
}

// statuses are HTTP status codes and ranges of them; none stands for 200 to 299.
type statuses []statusRange

type statusRange struct{ from, to int }

// UnmarshalJSON reads 204, "200,3xx", "200-204", or a list of these.
func (s *statuses) UnmarshalJSON(text []byte) error {
	text = bytes.Trim(bytes.ReplaceAll(text, []byte(`"`), nil), "[]")
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	parsed, err := parseStatuses(string(text))
	*s = parsed
	return err
}

var errStatus = errors.New("expectedStatus is like 204, 2xx, 200-204 or a list of these")

func parseStatuses(text string) (statuses, error) {
	var s statuses
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
				return nil, errStatus
			}
		}
		if r.from < 100 || r.to > 599 || r.from > r.to {
			return nil, errStatus
		}
		s = append(s, r)
	}
	return s, nil
}

// names says whether the code was asked for expressly.
func (s statuses) names(code int) bool {
	return slices.ContainsFunc(s, func(r statusRange) bool { return r.from <= code && code <= r.to })
}

func (s statuses) holds(code int) bool {
	return s.names(code) || len(s) == 0 && code >= 200 && code <= 299
}

// String lists the codes.
func (s statuses) String() string {
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
