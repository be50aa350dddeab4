package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor"
)

// httpCall is the parameter of httpJobHandler. Auth is sent as the Authorization header.
type httpCall struct {
	URL         string            `json:"url"`
	Method      string            `json:"method"`
	ContentType string            `json:"contentType"`
	Headers     map[string]string `json:"headers"`
	Cookies     map[string]string `json:"cookies"`
	Timeout     int               `json:"timeout"` // milliseconds
	Data        string            `json:"data"`
	Form        map[string]string `json:"form"`
	Auth        string            `json:"auth"`
}

const (
	defaultCallTimeout = 3 * time.Second
	maxCallTimeout     = time.Hour
	maxShownBody       = 64 << 10
)

// callURL calls a URL and logs the answer; anything but a 2xx status fails the run. The parameter is JSON, or the older
// lines "url: …", "method: …", "data: …".
func callURL(ctx context.Context, run *executor.Run) error {
	call, err := parseCall(run.Param)
	if err != nil {
		return err
	}
	timeout := defaultCallTimeout
	if call.Timeout > 0 {
		timeout = min(time.Duration(call.Timeout)*time.Millisecond, maxCallTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := call.request(ctx)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxShownBody+1))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	shown, more := body, ""
	if len(body) > maxShownBody {
		shown, more = body[:maxShownBody], "… (cut)"
	}
	run.Logf("%s %s: %s\n%s%s", req.Method, call.URL, resp.Status, strings.ToValidUTF8(string(shown), "�"), more)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("HTTP status %s", resp.Status)
	}
	run.SetResult("HTTP status " + resp.Status)
	return nil
}

func parseCall(param string) (httpCall, error) {
	var call httpCall
	param = strings.TrimSpace(param)
	if strings.HasPrefix(param, "{") {
		if err := json.Unmarshal([]byte(param), &call); err != nil {
			return call, fmt.Errorf("parameter is not JSON as expected: %w", err)
		}
	} else {
		call.Method = http.MethodGet
		for line := range strings.Lines(param) {
			name, value, _ := strings.Cut(line, ":")
			switch value = strings.TrimSpace(value); strings.ToLower(strings.TrimSpace(name)) {
			case "url":
				call.URL = value
			case "method":
				call.Method = value
			case "data":
				call.Data = value
			}
		}
	}
	call.Method = strings.ToUpper(cmp.Or(strings.TrimSpace(call.Method), http.MethodPost))
	u, err := url.Parse(call.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return call, fmt.Errorf("url[%s] is not an http or https address", call.URL)
	}
	switch call.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodHead:
		return call, nil
	}
	return call, fmt.Errorf("method[%s] is not known", call.Method)
}

func (c httpCall) request(ctx context.Context) (*http.Request, error) {
	body, contentType := []byte(c.Data), cmp.Or(c.ContentType, "application/json")
	if len(c.Form) > 0 {
		values := url.Values{}
		for name, value := range c.Form {
			values.Set(name, value)
		}
		body, contentType = []byte(values.Encode()), "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	}
	if c.Auth != "" {
		req.Header.Set("Authorization", c.Auth)
	}
	for name, value := range c.Headers {
		req.Header.Set(name, value)
	}
	for name, value := range c.Cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return req, nil
}
