package tracing

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/executor/wire"
)

// Settings are OpenTelemetry's variables as somebody set them, by the part of their names behind OTEL_. All empty: no traces.
type Settings struct {
	Endpoint           string // EXPORTER_OTLP_ENDPOINT: of a collector for everything
	TracesEndpoint     string // EXPORTER_OTLP_TRACES_ENDPOINT: for traces, to the letter
	Protocol           string // EXPORTER_OTLP_PROTOCOL
	Headers            string // EXPORTER_OTLP_HEADERS
	Certificate        string // EXPORTER_OTLP_CERTIFICATE
	ServiceName        string // SERVICE_NAME
	ResourceAttributes string // RESOURCE_ATTRIBUTES
	Sampler            string // TRACES_SAMPLER
	SamplerArg         string // TRACES_SAMPLER_ARG
	Disabled           bool   // SDK_DISABLED
}

// DefaultRatio is how many of the runs that succeed are traced unless somebody says otherwise. All of them would be five thousand
// traces a second on a large installation, which nobody's collector expects of a scheduler; one in a hundred shows how things
// usually go, and those that fail are exported anyhow.
const DefaultRatio = 0.01

// Options are settings that were understood.
type Options struct {
	Endpoint   string // "": no traces
	Headers    map[string]string
	TLS        wire.TLSOptions
	Attributes map[string]string // of the resource
	Ratio      float64           // of the traces that are exported however their run ends
	Failures   bool              // and all of the runs that fail
}

// Parse reads settings. Its errors name the variable, and tell no secret.
func (s Settings) Parse() (Options, error) {
	var o Options
	var err error
	if s.Disabled || s.Endpoint+s.TracesEndpoint == "" {
		return o, nil
	}
	switch s.Protocol {
	case "", "http/protobuf":
	default:
		return o, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q is not spoken: set http/protobuf, and the collector's port for HTTP, which is usually 4318", s.Protocol)
	}
	if o.Endpoint = s.TracesEndpoint; o.Endpoint != "" {
		err = checkEndpoint("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", o.Endpoint)
	} else {
		o.Endpoint = strings.TrimRight(s.Endpoint, "/") + "/v1/traces"
		err = checkEndpoint("OTEL_EXPORTER_OTLP_ENDPOINT", s.Endpoint)
	}
	if err != nil {
		return o, err
	}
	if o.Headers, err = parsePairs(s.Headers); err != nil {
		return o, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	for name, value := range o.Headers {
		if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || strings.ContainsAny(value, "\r\n\x00") {
			return o, errors.New("OTEL_EXPORTER_OTLP_HEADERS: one of them cannot be a header")
		}
	}
	if o.Attributes, err = parsePairs(s.ResourceAttributes); err != nil {
		return o, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if s.ServiceName != "" {
		o.Attributes["service.name"] = s.ServiceName
	}
	o.TLS.CAFile = s.Certificate
	if _, err := o.TLS.Config(); err != nil {
		return o, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
	}
	o.Ratio, o.Failures, err = s.sampling()
	return o, err
}

func checkEndpoint(variable, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s must be the address of a collector, such as http://localhost:4318", variable)
	}
	if u.User != nil {
		return fmt.Errorf("%s must not hold a user: put the header into OTEL_EXPORTER_OTLP_HEADERS", variable)
	}
	return nil
}

// sampling reads the sampler. A run is always the root of its trace, so what a sampler does with parents does not count.
func (s Settings) sampling() (ratio float64, failures bool, err error) {
	switch strings.TrimPrefix(s.Sampler, "parentbased_") {
	case "always_on":
		return 1, true, nil
	case "always_off":
		return 0, false, nil
	case "", "traceidratio":
	default:
		return 0, false, fmt.Errorf("OTEL_TRACES_SAMPLER %q must be always_on, always_off or traceidratio, with or without parentbased_ before it", s.Sampler)
	}
	if s.SamplerArg == "" {
		return DefaultRatio, true, nil
	}
	ratio, err = strconv.ParseFloat(s.SamplerArg, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return 0, false, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG %q must be a number from 0 to 1", s.SamplerArg)
	}
	return ratio, true, nil
}

var errPairs = errors.New("it must be name=value,name=value, with %2C for a comma in a value")

// parsePairs reads a list as W3C baggage writes it. The error does not repeat it: it may be a key.
func parsePairs(text string) (map[string]string, error) {
	pairs := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		plain, err := url.PathUnescape(value)
		if !ok || name == "" || err != nil {
			return nil, errPairs
		}
		pairs[name] = strings.ToValidUTF8(plain, "\uFFFD")
	}
	return pairs, nil
}
