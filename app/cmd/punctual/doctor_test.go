package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestTheDoctorSaysByItsExitCode looks over an installation that is well, and one with a job that is overdue, as text and as JSON.
func TestTheDoctorSaysByItsExitCode(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a, err := app.New(t.Context(), app.Options{DataDir: data, Listen: "127.0.0.1:0", Sample: app.SampleOff, HTTPJobs: app.SampleOff, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err == nil {
		err = a.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.Background()) })
	// A busy machine is not always well: its beat may be late at any look.
	var with []string
	look := func(want int, output string) (text string) {
		t.Helper()
		executortest.Eventually(t, fmt.Sprintf("exit code %d", want), func() error {
			var out, said bytes.Buffer
			code := run(append([]string{"doctor", "--data-dir", data, "--output", output}, with...), &out, &said)
			if said.Len() > 0 && !strings.HasPrefix(said.String(), "time=") {
				t.Errorf("it says %s", &said)
			}
			if text = out.String(); code != want {
				return fmt.Errorf("%d: %s%s", code, &out, &said)
			}
			return nil
		})
		return text
	}
	type report struct {
		Verdict app.CheckVerdict
		Jobs    int `json:"startedJobs"`
		Points  []struct {
			Key  string
			Text string
		}
	}
	read := func(want int) (r report) {
		t.Helper()
		if err := json.Unmarshal([]byte(look(want, "json")), &r); err != nil {
			t.Error(err)
		}
		return r
	}
	if r := read(0); r.Verdict != app.CheckReady || len(r.Points) != 0 {
		t.Errorf("of one that is well: %+v", r)
	}
	if text := look(0, "text"); !strings.Contains(text, "Jobs       0 started\n") || !strings.Contains(text, "Verdict    ready\n") {
		t.Error(text)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	onDatabase(t, data, func(pool *db.Pool) error {
		_, err := pool.ExecContext(t.Context(), `INSERT INTO xxl_job_info (job_group, job_desc, schedule_type, schedule_conf, misfire_strategy, glue_type, trigger_status, trigger_next_time, executor_param)
			VALUES (1, 'close the day', 'CRON', '0 0 2 * * ?', 'DO_NOTHING', 'BEAN', 1, 1000, '')`)
		return err
	})
	r := read(4)
	var keys []string
	for _, p := range r.Points {
		keys = append(keys, p.Key)
	}
	if text := look(4, "text"); r.Verdict != app.CheckLook || r.Jobs != 1 || !slices.Contains(keys, "jobs.overdue") || !strings.Contains(text, "Verdict    look\n") || !strings.Contains(text, "jobs.overdue: 1 started job is overdue") {
		t.Errorf("with a job that is overdue: %+v\n%s", r, text)
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ended := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "admin.example.com"}, NotAfter: time.Now().Add(-time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, ended, ended, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	with = []string{"--tls-cert", file}
	if text := look(5, "text"); !strings.Contains(text, "Verdict    failed\n") || !strings.Contains(text, "PUNCTUAL_TLS_CERT "+file+": admin.example.com: ended ") {
		t.Errorf("with a certificate that has ended: %s", text)
	}
	if r := read(5); r.Verdict != app.CheckFailed {
		t.Errorf("with a certificate that has ended: %+v", r)
	}
}

// TestTheDoctorAsksNobodyWhomTheEnvironmentDenies for a certificate, as the admin calls nobody there.
func TestTheDoctorAsksNobodyWhomTheEnvironmentDenies(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			asked.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	data := t.TempDir()
	a, err := app.New(t.Context(), app.Options{DataDir: data, Listen: "127.0.0.1:0", Sample: app.SampleOff, HTTPJobs: app.SampleOff, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = a.Stop(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	onDatabase(t, data, func(pool *db.Pool) error {
		_, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_group (app_name, title, address_type, address_list, update_time) VALUES ('orders', 'Orders', 1, ?, '2026-01-01 00:00:00')", server.URL)
		return err
	})
	look := func(deny string) (certificates int) {
		t.Helper()
		var out, said bytes.Buffer
		run([]string{"doctor", "--data-dir", data, "--output", "json", "--executor-deny", deny}, &out, &said)
		r := struct{ Certificates int }{-1}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v: %s%s", err, &out, &said)
		}
		return r.Certificates
	}
	if n := look("10.0.0.0/8"); n != 1 || asked.Load() != 1 {
		t.Errorf("%d certificates of one that may be asked, which was asked %d times", n, asked.Load())
	}
	if n := look("10.0.0.0/8,127.0.0.1"); n != 0 || asked.Load() != 1 {
		t.Errorf("%d certificates of one that is denied, which was asked %d times more", n, asked.Load()-1)
	}
	var out, said bytes.Buffer
	if code := run([]string{"doctor", "--data-dir", data, "--executor-deny", "10.0.0.0/99"}, &out, &said); code == 0 || !strings.Contains(said.String(), "PUNCTUAL_EXECUTOR_DENY") {
		t.Errorf("of a rule that cannot be read: exit code %d, %s", code, &said)
	}
}
