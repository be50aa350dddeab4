//go:build go1.26

package executor_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

func succeed(context.Context, *executor.Run) error { return nil }

// tlsClient calls executors as an admin with these options does.
func tlsClient(t *testing.T, options wire.TLSOptions) *wire.ExecutorClient {
	t.Helper()
	config, err := options.Config()
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewExecutorClient(wire.NewHTTPClient(4, wire.WithTLS(config)))
	t.Cleanup(client.Close)
	return client
}

func TestARunOverTLSInBothDirections(t *testing.T) {
	t.Parallel()
	ca := executortest.NewCA(t)
	admin := executortest.NewTLSAdmin(t, ca.Certificate(t))
	ex := executortest.New(t, admin.URL, executortest.Handlers{"h": succeed}, func(c *executor.Config) {
		c.TLSCert, c.TLSKey = ca.Issue(t, t.TempDir(), "executor")
		c.HTTPClient, c.AdminTLS = nil, wire.TLSOptions{CAFile: ca.File}
	})
	if !strings.HasPrefix(ex.Address(), "https://127.0.0.1:") {
		t.Errorf("registers %s", ex.Address())
	}
	admin.Wait(t, "registration", func() bool { return len(admin.Registered()) == 1 })
	if got := admin.Registered()[0]; got != ex.Address() {
		t.Errorf("registered %s, want %s", got, ex.Address())
	}
	if answer, err := tlsClient(t, wire.TLSOptions{CAFile: ca.File}).Run(t.Context(), ex.Target(), request(1)); err != nil || !answer.OK() {
		t.Fatalf("%+v, %v", answer, err)
	}
	if cb := admin.Result(t, 1); cb.HandleCode != wire.CodeSuccess {
		t.Errorf("result %+v", cb)
	}
}

func TestStrangersCertificatesAreRefused(t *testing.T) {
	t.Parallel()
	ca, other := executortest.NewCA(t), executortest.NewCA(t)
	cert, key := ca.Issue(t, t.TempDir(), "executor")
	own, ownKey := ca.Issue(t, t.TempDir(), "admin")
	foreign, foreignKey := other.Issue(t, t.TempDir(), "stranger")
	secure := func(c *executor.Config) { c.TLSCert, c.TLSKey = cert, key }
	mutual := func(c *executor.Config) { secure(c); c.TLSClientCA = ca.File }
	for name, tc := range map[string]struct {
		config  func(*executor.Config)
		options wire.TLSOptions
		refused bool
	}{
		"the right authority":                  {secure, wire.TLSOptions{CAFile: ca.File}, false},
		"another authority":                    {secure, wire.TLSOptions{CAFile: other.File}, true},
		"the system's authorities":             {secure, wire.TLSOptions{}, true},
		"no check, by express wish":            {secure, wire.TLSOptions{Insecure: true}, false},
		"a client certificate is wanted":       {mutual, wire.TLSOptions{CAFile: ca.File}, true},
		"a client certificate of a stranger":   {mutual, wire.TLSOptions{CAFile: ca.File, CertFile: foreign, KeyFile: foreignKey}, true},
		"a client certificate that is trusted": {mutual, wire.TLSOptions{CAFile: ca.File, CertFile: own, KeyFile: ownKey}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ex := executortest.New(t, "", nil, tc.config)
			answer, err := tlsClient(t, tc.options).Beat(t.Context(), ex.Target())
			if !tc.refused {
				if err != nil || !answer.OK() {
					t.Errorf("%+v, %v", answer, err)
				}
				return
			}
			if _, ok := errors.AsType[*wire.CallError](err); !ok {
				t.Errorf("not refused: %+v, %v", answer, err)
			}
		})
	}
}

func TestAnUntrustedExecutorHasSeenNothing(t *testing.T) {
	t.Parallel()
	ca := executortest.NewCA(t)
	ex := executortest.New(t, "", nil, func(c *executor.Config) { c.TLSCert, c.TLSKey = ca.Issue(t, t.TempDir(), "executor") })
	_, err := tlsClient(t, wire.TLSOptions{}).Run(t.Context(), ex.Target(), request(1))
	call, ok := errors.AsType[*wire.CallError](err)
	if !ok || call.Stage != wire.StageDial || call.MaybeDelivered {
		t.Errorf("%v (stage and delivery wrong)", err)
	}
}

func TestAnUntrustedAdminGetsNoToken(t *testing.T) {
	t.Parallel()
	admin := executortest.NewTLSAdmin(t, executortest.NewCA(t).Certificate(t))
	client := wire.NewAdminClient(nil, []string{admin.URL}, executortest.Token, executortest.AppName, 0)
	err := client.Registry(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "a", RegistryValue: "http://x/"})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an admin nobody vouches for: %v", err)
	}
	if got := admin.Registered(); len(got) != 0 {
		t.Errorf("registered with it: %v", got)
	}
}

func TestWrongTLSSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := executortest.NewCA(t)
	cert, key := ca.Issue(t, dir, "executor")
	_, otherKey := ca.Issue(t, t.TempDir(), "executor")
	empty := dir + "/empty.pem"
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		config executor.Config
		want   string
	}{
		"a certificate without its key": {executor.Config{TLSCert: cert}, "needs two files"},
		"a key of another certificate":  {executor.Config{TLSCert: cert, TLSKey: otherKey}, "private key does not match"},
		"a missing file":                {executor.Config{TLSCert: dir + "/none", TLSKey: key}, "no such file"},
		"a CA file without certificate": {executor.Config{AdminTLS: wire.TLSOptions{CAFile: empty}}, "no PEM certificate"},
		"a missing CA file":             {executor.Config{TLSCert: cert, TLSKey: key, TLSClientCA: dir + "/none"}, "no such file"},
		"client certificates over HTTP": {executor.Config{TLSClientCA: ca.File}, "only be asked for over TLS"},
		"checks and no checks":          {executor.Config{AdminTLS: wire.TLSOptions{CAFile: ca.File, Insecure: true}}, "choose one"},
	} {
		tc.config.AppName = "a"
		if _, err := executor.New(tc.config); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
