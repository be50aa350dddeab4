package alarm

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	stdmail "net/mail"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// clock is a clock that tests set.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time      { return time.Unix(0, c.ns.Load()).In(dbtest.Zone) }
func (c *clock) add(d time.Duration) { c.ns.Add(int64(d)) }
func (c *clock) set(t time.Time)     { c.ns.Store(t.UnixNano()) }
func newClock() *clock               { c := new(clock); c.set(noon); return c }
func catalogue(lang string) Printer  { return texts.Printer(lang) }
func link(jobID, logID int64) string { return "https://punctual.test/runs/" + itoa(logID) }
func itoa(n int64) string            { return strconv.FormatInt(n, 10) }

var (
	noon  = time.Date(2026, 3, 2, 12, 0, 0, 0, dbtest.Zone)
	texts = locales.New()
	key   = bytes.Repeat([]byte{7}, 32)
)

// bundle is an alarmer on a real database with a group, a job and a clock of its own.
type bundle struct {
	t          *testing.T
	pool       *db.Pool
	clock      *clock
	log        *executortest.Output
	a          *Alarmer
	group, job int64
}

func setup(t *testing.T, pool *db.Pool, configure func(*Config)) *bundle {
	t.Helper()
	b := &bundle{t: t, pool: pool, clock: newClock(), log: new(executortest.Output)}
	b.a = b.alarmer(configure)
	q := db.New()
	var err error
	if b.group, err = q.InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "orders", Title: "Orders"}); err != nil {
		t.Fatal(err)
	}
	b.job = b.addJob("nightly <b>report</b>", "")
	return b
}

// openRuns are the runs that have no result, as a sweep finds them; none when the test is over.
func (b *bundle) openRuns() (ids []int64) {
	rows, _ := db.New().ListOpenRuns(b.t.Context(), b.pool, db.ListOpenRunsParams{Limit: 1000})
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// alarmer is another alarmer on the same database, as another admin or the next start has.
func (b *bundle) alarmer(configure func(*Config)) *Alarmer {
	b.t.Helper()
	cfg := Config{
		Pool: b.pool, Logger: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Key: key,
		Printer: catalogue, Languages: locales.Languages(), Language: "en", Link: link, Now: b.clock.now, RootCAs: trusted, Calm: -1, Open: b.openRuns,
	}
	if configure != nil {
		configure(&cfg)
	}
	a, err := New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func (b *bundle) addJob(name, emails string) int64 {
	b.t.Helper()
	now := sql.NullTime{Time: b.pool.Wall(b.clock.now()), Valid: true}
	id, err := db.New().InsertJob(b.t.Context(), b.pool, db.InsertJobParams{
		JobGroup: b.group, JobDesc: name, AddTime: now, UpdateTime: now, Author: "me", AlarmEmail: db.Text(emails),
		ScheduleType: jobspec.ScheduleNone, MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteFirst,
		ExecutorHandler: "handler", ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean, GlueUpdateTime: now,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// addRun inserts a run of a job, planned now, and returns its id.
func (b *bundle) addRun(jobID int64, handleCode int64, finished time.Time) int64 {
	b.t.Helper()
	now := b.clock.now()
	id, err := db.InsertRuns(b.t.Context(), b.pool, []db.NewRun{{
		JobGroup: b.group, JobID: jobID, Handler: "handler", TriggerTime: b.pool.Wall(now), PlannedAt: now.UnixMilli(),
		Type: jobspec.TriggerCron, TriggerCode: 200,
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	ms := int64(0)
	if !finished.IsZero() {
		ms = finished.UnixMilli()
	}
	b.exec("UPDATE xxl_job_log SET sent_at = planned_at, handle_code = ?, finished_at = ? WHERE id = ?", handleCode, ms, id)
	return id
}

func (b *bundle) exec(query string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.ExecContext(b.t.Context(), query, args...); err != nil {
		b.t.Fatal(err)
	}
}

// raise raises an event about a new run of a job, as the engine does, and returns the run's id.
func (b *bundle) raise(jobID int64, cause scheduler.AlarmCause, detail string) int64 {
	b.t.Helper()
	id := b.addRun(jobID, 500, b.clock.now())
	b.event(scheduler.AlarmEvent{JobID: jobID, GroupID: b.group, LogID: id, Cause: cause, Planned: b.clock.now().UnixMilli(), At: b.clock.now(), Text: detail})
	return id
}

func (b *bundle) event(e scheduler.AlarmEvent) {
	b.t.Helper()
	err := b.pool.Tx(b.t.Context(), func(tx *sql.Tx) error { return b.a.Raise(b.t.Context(), tx, []scheduler.AlarmEvent{e}) })
	if err != nil {
		b.t.Fatal(err)
	}
}

// work lets an alarmer do everything that is due now.
func (b *bundle) work() { b.t.Helper(); b.workOn(b.a) }

func (b *bundle) workOn(a *Alarmer) {
	b.t.Helper()
	for range 100 {
		s, err := a.runOnce(b.t.Context())
		a.sends.Wait()
		if err != nil {
			b.t.Fatal(err)
		}
		if s == (step{}) {
			return
		}
	}
	b.t.Fatal("there is always more to do")
}

func (b *bundle) alarmStatus(logID int64) (status int64) {
	b.t.Helper()
	run, err := db.New().GetRun(b.t.Context(), b.pool, logID)
	if err != nil {
		b.t.Fatal(err)
	}
	return run.AlarmStatus
}

func (b *bundle) deliveries() []Delivery {
	b.t.Helper()
	list, err := b.a.Deliveries(b.t.Context(), DeliveryFilter{State: AnyState, Limit: 500})
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// addChannel saves a channel, and a route of everything to it.
func (b *bundle) addChannel(c Channel, causes ...scheduler.AlarmCause) int64 {
	b.t.Helper()
	c.Enabled = true
	id, err := b.a.CreateChannel(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.a.CreateRoute(b.t.Context(), Route{ChannelID: id, Scope: ScopeAll, Causes: causes}); err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bundle) mailChannel(s *mailServer, recipients ...string) Channel {
	host, port := s.hostPort()
	return Channel{Name: "ops mail", Kind: KindMail, Settings: Settings{
		Host: host, Port: port, Security: SecurityNone, From: "Alarms <alarms@punctual.test>", Recipients: recipients,
	}}
}

// trusted is the authority of certificate, which is good for 127.0.0.1.
var trusted, certificate = func() (*x509.CertPool, tls.Certificate) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool, s.TLS.Certificates[0]
}()

// mailServer is a real SMTP server that keeps what it gets.
type mailServer struct {
	t        *testing.T
	listener net.Listener
	server   *smtp.Server
	password string // "": no login

	mu    sync.Mutex
	mails []letter
	rcpt  func(address string) error
	data  func() error
	tls   []bool // of each session that sent something

	arrived chan letter // the same mails, for who waits
}

// letter is a mail as a reader's program shows it.
type letter struct {
	from, to        string
	header          stdmail.Header
	subject         string
	text, html, raw string
}

type mailServerOptions struct {
	password      string
	starttls, tls bool
}

func newMailServer(t *testing.T, o mailServerOptions) *mailServer {
	t.Helper()
	s := &mailServer{t: t, password: o.password, arrived: make(chan letter, 1000)}
	s.server = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &mailSession{s: s, conn: c}, nil }))
	s.server.Domain = "mail.test"
	s.server.AllowInsecureAuth = !o.starttls && !o.tls
	s.server.ErrorLog = discardLog{}
	if o.starttls {
		s.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	serve := s.listener
	if o.tls {
		serve = tls.NewListener(serve, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.server.Serve(serve) }()
	t.Cleanup(func() {
		_ = s.server.Close()
		_ = s.listener.Close() // of which the server does not know before it serves
		<-done
	})
	return s
}

type discardLog struct{}

func (discardLog) Printf(string, ...any) {}
func (discardLog) Println(...any)        {}

func (s *mailServer) hostPort() (string, int) {
	at := s.listener.Addr().(*net.TCPAddr)
	return "127.0.0.1", at.Port
}

func (s *mailServer) received() []letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]letter(nil), s.mails...)
}

// take returns what came since the last take.
func (s *mailServer) take() []letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	mails := s.mails
	s.mails = nil
	return mails
}

func (s *mailServer) onRcpt(f func(string) error) { s.mu.Lock(); s.rcpt = f; s.mu.Unlock() }
func (s *mailServer) onData(f func() error)       { s.mu.Lock(); s.data = f; s.mu.Unlock() }

type mailSession struct {
	s        *mailServer
	conn     *smtp.Conn
	loggedIn bool
	from, to string
}

func (m *mailSession) AuthMechanisms() []string {
	if m.s.password == "" {
		return nil
	}
	return []string{sasl.Plain, sasl.Login}
}

func (m *mailSession) Auth(mech string) (sasl.Server, error) {
	decide := func(user, password string) error {
		if user != "alarms" || password != m.s.password {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong: " + password} // as careless servers do
		}
		m.loggedIn = true
		return nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error { return decide(user, password) }), nil
}

func (m *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	if m.s.password != "" && !m.loggedIn {
		return smtp.ErrAuthRequired
	}
	m.from = from
	return nil
}

func (m *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	m.s.mu.Lock()
	f := m.s.rcpt
	m.s.mu.Unlock()
	if f != nil {
		if err := f(to); err != nil {
			return err
		}
	}
	m.to = to
	return nil
}

func (m *mailSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	if m.s.data != nil {
		if err := m.s.data(); err != nil {
			return err
		}
	}
	_, secure := m.conn.TLSConnectionState()
	m.s.tls = append(m.s.tls, secure)
	got := readMail(m.s.t, m.from, m.to, raw)
	m.s.mails = append(m.s.mails, got)
	m.s.arrived <- got
	return nil
}

func (m *mailSession) Reset()        {}
func (m *mailSession) Logout() error { return nil }

func readMail(t *testing.T, from, to string, raw []byte) letter {
	got := letter{from: from, to: to, raw: string(raw)}
	msg, err := stdmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Errorf("read mail: %v", err)
		return got
	}
	got.header = msg.Header
	got.subject, _ = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	_, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		t.Errorf("read mail: %v", err)
		return got
	}
	for parts := multipart.NewReader(msg.Body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Errorf("read mail: %v", err)
			return got
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Errorf("read mail: %v", err)
		}
		text := strings.ReplaceAll(string(body), "\r\n", "\n")
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			got.html = text
		} else {
			got.text = text
		}
	}
}
