package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	prefix = "/api/v1"
	// callFor bounds a call that has no bound of its own. Calls that wait for the end of a run ask for less than half of it.
	callFor = 2 * time.Minute
	// maxAnswer bounds what is read of an answer: a page of jobs with their scripts is the largest.
	maxAnswer = 64 << 20
)

// api calls an admin.
type api struct {
	base  string // without the prefix
	token string
	lang  string // of Accept-Language; empty for the admin's own
	once  string // the Idempotency-Key of what is posted; may be empty
	match string // the If-Match of what is changed; may be empty
	same  bool   // what is posted does the same when it is posted again
	http  *http.Client

	within time.Duration // how long a call may take; zero: callFor
	away   *patience     // nil: what fails is an error at once
}

// RefusedError is what an admin did not do, and why.
type RefusedError struct {
	Status int            `json:"status"`
	Title  string         `json:"title"`
	Detail string         `json:"detail"`
	Code   string         `json:"code"`
	Errors []FieldProblem `json:"errors"`

	after string // when to ask again, as Retry-After says it; empty: nobody knows
}

// FieldProblem is what is wrong with one field.
type FieldProblem struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Error implements error: in the admin's words, which are in the language of whoever asked. Names and answers of executors stand in them.
func (e *RefusedError) Error() string {
	parts := []string{e.Title}
	if e.Detail != "" && e.Detail != e.Title && (e.Code != "invalid" || len(e.Errors) == 0) { // or it says to look at what follows
		parts = append(parts, strings.Split(e.Detail, "\n")...)
	}
	if seconds, err := strconv.Atoi(e.after); err == nil && e.Status == http.StatusTooManyRequests {
		parts = append(parts, "Ask again after "+counted(max(seconds, 1), "second", "seconds")+".")
	}
	for _, f := range e.Errors {
		parts = append(parts, "  "+f.Field+": "+f.Detail)
	}
	for i := range parts {
		parts[i] = plain(parts[i])
	}
	return strings.Join(parts, "\n")
}

// language is the reader's, as their terminal has it: zh-CN of zh_CN.UTF-8.
func language() string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value, _, _ = strings.Cut(value, ".")
			if value == "C" || value == "POSIX" {
				return ""
			}
			return strings.ReplaceAll(value, "_", "-")
		}
	}
	return ""
}

// do calls an operation and returns the JSON of its answer. A body is sent as JSON; a PATCH as a merge patch.
func (a *api) do(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, error) {
	raw, _, err := a.call(ctx, method, path, query, body)
	if err == nil && raw != nil && !json.Valid(raw) {
		return nil, fmt.Errorf("%s answered with what is no JSON: is it an admin of Punctual with API v1?", a.base)
	}
	return raw, err
}

// ask is do, and reads the answer.
func (a *api) ask(ctx context.Context, into any, method, path string, query url.Values, body any) error {
	raw, err := a.do(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	return nil
}

// call is do with the header of the answer.
func (a *api) call(ctx context.Context, method, path string, query url.Values, body any) (raw json.RawMessage, header http.Header, err error) {
	if a.away == nil || method != http.MethodGet && (method != http.MethodPost || a.once == "" && !a.same) {
		return a.try(ctx, method, path, query, body)
	}
	err = a.away.reach(ctx, func() error {
		raw, header, err = a.try(ctx, method, path, query, body)
		return err
	})
	return raw, header, err
}

// try is one call.
func (a *api) try(ctx context.Context, method, path string, query url.Values, body any) (json.RawMessage, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.within, callFor))
	defer cancel()
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, nil, fmt.Errorf("encode request: %w", err)
		}
		reader = bytes.NewReader(raw)
	}
	address := strings.TrimRight(a.base, "/") + prefix + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Accept", "application/json")
	if a.lang != "" {
		req.Header.Set("Accept-Language", a.lang)
	}
	if a.once != "" && method == http.MethodPost {
		req.Header.Set("Idempotency-Key", a.once)
	}
	if a.match != "" {
		req.Header.Set("If-Match", a.match)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for what, value := range map[string]string{"API token": a.token, "Idempotency-Key": a.once, "ETag": a.match} {
		if strings.ContainsFunc(value, unicode.IsControl) { // as one that was read with the end of its line
			return nil, nil, fmt.Errorf("the %s holds an end of a line or another control character: give it without", what)
		}
	}
	resp, err := a.http.Do(req)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil, nil, errInterrupted
	}
	if err != nil {
		there := wasThere(err)
		return nil, nil, &awayError{fmt.Errorf("cannot reach %s: %w", a.base, cause(err)), there, there}
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil, nil, errInterrupted
	}
	if err != nil {
		return nil, nil, &awayError{fmt.Errorf("the answer of %s broke off: %w", a.base, err), true, false}
	}
	if resp.StatusCode == http.StatusNoContent {
		return nil, resp.Header, nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		if kind == "text/html" { // the API has none: it is a portal's, or that of a proxy before an admin that is away
			return nil, nil, &awayError{fmt.Errorf("%s answered with a page for people: is it an admin of Punctual with API v1, and is nothing between it and here that wants a login?", a.base), true, false}
		}
		return raw, resp.Header, nil
	}
	refused := &RefusedError{Status: resp.StatusCode, Title: resp.Status}
	if kind != "application/problem+json" || json.Unmarshal(raw, refused) != nil {
		err := fmt.Errorf("%s answered %s: is it an admin of Punctual with API v1?", a.base, plain(resp.Status))
		if resp.StatusCode == http.StatusBadRequest && strings.HasPrefix(a.base, "http:") {
			err = fmt.Errorf("%w Perhaps it serves HTTPS alone: write its address with https://", err)
		}
		switch resp.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout: // of a proxy in front of it
			err = &awayError{err, true, resp.StatusCode == http.StatusGatewayTimeout}
		}
		return nil, nil, err
	}
	refused.Status, refused.after = resp.StatusCode, resp.Header.Get("Retry-After") // whatever it says of itself
	return nil, nil, refused
}

// replace sends something whole in place of what is at a path, so that nobody's change in between is lost. Where nothing is, it is made.
func (a *api) replace(ctx context.Context, at, method, path string, body any) (json.RawMessage, error) {
	_, header, err := a.call(ctx, http.MethodGet, at, nil, nil)
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Status == http.StatusNotFound {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	now := *a
	now.match = header.Get("ETag")
	return now.do(ctx, method, path, nil, body)
}

// cause is why a call failed without the address, which is said beside it.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w; if that is your own, name its certificate with --ca-file, which punctual login keeps, or PUNCTUAL_CA_FILE", err)
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Errorf("%w; call the admin by a name of its certificate", err)
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return fmt.Errorf("%w; the admin's certificate has to be renewed, or a clock is wrong", err)
	}
	if errors.Is(err, http.ErrSchemeMismatch) {
		return fmt.Errorf("%w; write its address with http://, or have it serve HTTPS", err)
	}
	return err
}

// searched is what an answer says that came before its list was at its end because the time to look was over; an admin that says so can be told
// to look for longer.
type searched struct {
	SearchedTo *time.Time `json:"searched_to"`
}

// lookOn is how long an admin is told to look on, once it has not found enough at first glance: fewer requests, of which none holds on to the
// database for long.
const lookOn = "2s"

// unpaged is the limit of lists that the API gives whole.
const unpaged = -1

// list reads a list page by page: at most limit items, all of them for 0.
func (a *api) list(ctx context.Context, path string, query url.Values, limit int) ([]json.RawMessage, error) {
	const page = 200
	var items []json.RawMessage
	for {
		n := page
		if limit > 0 {
			n = min(n, limit-len(items))
		}
		if limit != unpaged {
			query.Set("limit", fmt.Sprint(n))
		}
		raw, err := a.do(ctx, http.MethodGet, path, query, nil)
		if err != nil {
			return nil, err
		}
		var part struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next"`
			searched
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, fmt.Errorf("the answer of %s is not a list: %w", a.base, err)
		}
		items = append(items, part.Items...)
		if part.Next == "" || limit > 0 && len(items) >= limit {
			return slices.Clip(items), nil
		}
		query.Set("cursor", part.Next)
		if part.SearchedTo != nil {
			query.Set("look", lookOn)
		}
	}
}
