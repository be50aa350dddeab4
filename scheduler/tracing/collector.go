package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// uploadLimit is how long a batch may take, with all its tries.
const uploadLimit = 10 * time.Second

// collector is where traces go: the client of OpenTelemetry's exporter for OTLP over HTTP. The library's own
// (otlptracehttp) brings the whole of gRPC, 66 packages and 2 MB of program, for this one POST.
type collector struct {
	endpoint string
	headers  map[string]string
	http     *http.Client
}

func newCollector(o Options, config *tls.Config) *collector {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, TLSHandshakeTimeout: 5 * time.Second, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}
	return &collector{endpoint: o.Endpoint, headers: o.Headers, http: &http.Client{
		Transport: transport,
		// A redirect would carry the headers, which hold a key, to an address that nobody set.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start implements otlptrace.Client.
func (c *collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *collector) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. What a collector says will pass is tried again.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithTimeout(ctx, uploadLimit)
	defer cancel()
	body, err := encode(spans)
	if err != nil {
		return err
	}
	for wait := 500 * time.Millisecond; ; wait *= 2 {
		passes, err := c.post(ctx, body)
		if err == nil || !passes {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// encode is an export request. TracesData is one to the byte: the definition of the protocol keeps them so, and the request's own type
// stands in a package that needs gRPC.
func encode(spans []*tracepb.ResourceSpans) ([]byte, error) {
	plain, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(plain)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// post tries once. passes says that another try may fare better.
func (c *collector) post(ctx context.Context, body []byte) (passes bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("User-Agent", "punctual")
	resp, err := c.http.Do(req)
	if err != nil {
		return true, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	_ = resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		passes = true
	}
	return passes, fmt.Errorf("the collector answered with HTTP status %d", resp.StatusCode)
}
