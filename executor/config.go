package executor

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Config says how an executor behaves. Only AppName is always needed.
type Config struct {
	AppName string   // the executor group this executor belongs to
	Admins  []string // base addresses of the admins; empty: not registered, results are kept until there is one
	// Token is the shared secret in both directions. An empty one leaves the port open to everybody, and is therefore
	// refused together with GlueEnabled, unless InsecureNoToken says that it is meant, or nobody can call (Mode).
	Token           string
	InsecureNoToken bool
	// TokenFile is a file whose first line is the token. Another one there counts without a restart, from the moment at which an admin takes it.
	TokenFile string

	// Mode Pull asks the admins for what there is to do, where they cannot call. Listen, Address and TLS… then mean nothing. Name is what
	// its address pull://name says, of its own within the group; empty: made of the machine's name and the data folder's mark.
	Mode Mode
	Name string

	Listen   string       // host:port to listen on; empty or port 0: the first free port from 9999 upwards
	Listener net.Listener // takes the place of Listen
	Address  string       // the URL admins call; empty: http(s)://<first address of this machine>:<port>/

	// TLSCert and TLSKey are PEM files that make the executor serve HTTPS, and register an https:// address. They are
	// read again when they change. TLSConfig takes their place.
	TLSCert, TLSKey string
	TLSConfig       *tls.Config
	// TLSClientCA is a PEM file: only callers that show a certificate signed by one of its authorities are let in.
	TLSClientCA string
	// AdminTLS says how the certificates of https admins are checked. Not used with HTTPClient.
	AdminTLS wire.TLSOptions

	DataDir     string // run logs, scripts and the journal; default data/executor
	GlueEnabled bool   // run scripts that admins send
	// RunAs is the user as whom scripts and commands run, by name or number; empty: this process's. It takes root to run them as
	// another. They can then read neither DataDir nor the process's memory.
	RunAs string

	LogRetentionDays int   // days that run logs are kept; default 30; KeepLogs, or anything below 3, for ever as upstream
	MaxLogBytes      int64 // bound of one run's log; default 64 MiB

	QueueLimit    int           // waiting runs of one job; default 1000
	MaxRuns       int           // waiting and running runs of all jobs; default 100,000
	OverlapGrace  time.Duration // how long an ended run's handler may keep its job's queue waiting; default 10 s
	DrainTimeout  time.Duration // how long a drain waits for running runs when its context has no deadline; default 30 s
	BeatInterval  time.Duration // default 30 s; admins forget an executor after 90 s
	CallbackBatch int           // results in one request; default and at most 500
	AdminTimeout  time.Duration // for one request to one admin; default 5 s
	// Removed is what becomes of jobs that were declared before and are no more; default RemovedStop.
	Removed Removal
	// NoSync leaves it to the operating system when the journal reaches the disk. A crash of the process loses nothing
	// either way; without the sync a power failure may lose the last second.
	NoSync bool

	// HTTPClient is used towards the admins; default wire.NewHTTPClient with AdminTLS. With Pull its Timeout does not count: admins answer
	// when there is something to do.
	HTTPClient *http.Client
	Logger     *slog.Logger // default slog.Default
}

// KeepLogs as LogRetentionDays keeps run logs for ever.
const KeepLogs = -1

// withDefaults checks c and fills what was left open.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	if strings.TrimSpace(c.AppName) == "" {
		errs = append(errs, errors.New("the app name is empty"))
	}
	for _, address := range c.Admins {
		if !strings.Contains(address, "://") || !callable(address) {
			errs = append(errs, fmt.Errorf("admin address %q is not an http URL", address))
		}
	}
	if c.Listen != "" && c.Listener == nil {
		_, port, err := net.SplitHostPort(c.Listen)
		if err == nil && port != "" {
			_, err = net.LookupPort("tcp", port)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%q is nothing to listen on: %w", c.Listen, err))
		}
	}
	if c.Address != "" && !callable(c.Address) {
		errs = append(errs, fmt.Errorf("address %q is not an http URL", c.Address))
	}
	switch {
	case c.Mode != Push && c.Mode != Pull:
		errs = append(errs, fmt.Errorf("the mode is %q, and should be empty or pull", c.Mode))
	case c.Mode == Push && c.Name != "":
		errs = append(errs, errors.New("a name is for executors that ask for their calls: set the mode pull, or an address in its place"))
	case c.Mode == Pull && len(c.Admins) == 0:
		errs = append(errs, errors.New("an executor that asks for its calls needs an admin to ask"))
	case c.Mode == Pull && (c.Listen != "" || c.Listener != nil || c.Address != "" || c.TLSCert != "" || c.TLSKey != "" || c.TLSClientCA != "" || c.TLSConfig != nil):
		errs = append(errs, errors.New("an executor that asks for its calls listens nowhere: leave out the listener, the address and the certificate"))
	case c.Mode == Pull && c.Name != "":
		if _, ok := wire.PullAddress(c.Name); !ok {
			errs = append(errs, fmt.Errorf("the name %q is not made of letters, digits, points, hyphens and underscores, at most %d", c.Name, wire.MaxPullName))
		}
	}
	if c.TLSClientCA != "" && c.TLSConfig == nil && c.TLSCert == "" && c.TLSKey == "" {
		errs = append(errs, errors.New("client certificates can only be asked for over TLS: set a certificate and its key"))
	}
	if err := c.checkToken(); err != nil {
		errs = append(errs, err)
	}
	switch c.Removed {
	case "", RemovedStop, RemovedKeep, RemovedDelete:
	default:
		errs = append(errs, fmt.Errorf("what becomes of removed jobs is %q, and should be stop, keep or delete", c.Removed))
	}
	for _, number := range []struct {
		name  string
		value int64
	}{
		{"MaxLogBytes", c.MaxLogBytes}, {"QueueLimit", int64(c.QueueLimit)}, {"MaxRuns", int64(c.MaxRuns)}, {"OverlapGrace", int64(c.OverlapGrace)},
		{"DrainTimeout", int64(c.DrainTimeout)}, {"BeatInterval", int64(c.BeatInterval)}, {"CallbackBatch", int64(c.CallbackBatch)}, {"AdminTimeout", int64(c.AdminTimeout)},
	} {
		if number.value < 0 {
			errs = append(errs, fmt.Errorf("%s is negative", number.name))
		}
	}
	if len(errs) > 0 {
		return c, errors.Join(errs...)
	}
	c.DataDir = cmp.Or(c.DataDir, "data/executor")
	c.LogRetentionDays = cmp.Or(c.LogRetentionDays, 30)
	c.MaxLogBytes = cmp.Or(c.MaxLogBytes, 64<<20)
	c.QueueLimit = cmp.Or(c.QueueLimit, 1000)
	c.MaxRuns = cmp.Or(c.MaxRuns, 100_000)
	c.OverlapGrace = cmp.Or(c.OverlapGrace, 10*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	c.BeatInterval = cmp.Or(c.BeatInterval, 30*time.Second)
	c.CallbackBatch = min(cmp.Or(c.CallbackBatch, 500), 500)
	c.AdminTimeout = cmp.Or(c.AdminTimeout, 5*time.Second)
	c.Removed = cmp.Or(c.Removed, RemovedStop)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// callable says whether an address is an http URL, as people write one. Without a scheme it is http's.
func callable(address string) bool {
	if address = strings.TrimSpace(address); !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https")
}
