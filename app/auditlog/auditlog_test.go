package auditlog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// write adds entries without a place.
func write(t *testing.T, pool *db.Pool, n int) {
	t.Helper()
	for i := range n {
		_, err := db.New().InsertAudit(t.Context(), pool, db.InsertAuditParams{
			MadeAt: int64(1000 + i), UserID: 1, UserName: "ann", Address: "10.0.0.7", Action: "update", ObjectKind: "job", ObjectID: int64(i), ObjectName: "結算 “<b>”\n" + strconv.Itoa(i),
			GroupID: 3, BeforeJSON: `{"name":"a"}`, AfterJSON: `{"name":"b"}`,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func verify(t *testing.T, c *Chain, known Place) *Report {
	t.Helper()
	r, err := c.Verify(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAdminsThatExtendTheChainTogetherMakeOne(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const writers, each = 3, 60
		chains := []*Chain{New(pool, quiet()), New(pool, quiet()), New(pool, quiet())}
		var all sync.WaitGroup
		for range writers {
			all.Go(func() { write(t, pool, each) })
		}
		for _, c := range chains {
			all.Go(func() {
				for range 40 {
					if err := c.ExtendAll(t.Context()); err != nil && !errors.Is(err, errMoved) {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if err := chains[0].ExtendAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, chains[1], Place{}); r.Fault != nil || r.Entries != writers*each || r.Head.Seq != writers*each || r.Waiting != 0 {
			t.Errorf("%+v %+v", r, r.Fault)
		}
	})
}

func TestTheFirstBrokenEntryIsNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		harm []string
		want Fault
	}{
		"a field":                {[]string{"UPDATE punctual_audit SET user_name = 'eve' WHERE seq = 250"}, Fault{250, 250, Changed}},
		"what was before":        {[]string{"UPDATE punctual_audit SET before_json = NULL WHERE seq = 3"}, Fault{3, 3, Changed}},
		"the group":              {[]string{"UPDATE punctual_audit SET group_id = 4 WHERE seq = 3"}, Fault{3, 3, Changed}},
		"a time, and a later":    {[]string{"UPDATE punctual_audit SET made_at = 1 WHERE seq IN (7, 200)"}, Fault{7, 7, Changed}},
		"one that is taken away": {[]string{"DELETE FROM punctual_audit WHERE seq = 42"}, Fault{42, 0, Missing}},
		"the first":              {[]string{"DELETE FROM punctual_audit WHERE seq = 1"}, Fault{1, 0, Missing}},
		"the end":                {[]string{"DELETE FROM punctual_audit WHERE seq > 290"}, Fault{291, 0, Cut}},
		"all of it":              {[]string{"DELETE FROM punctual_audit"}, Fault{1, 0, Cut}},
		"taken away and closed up": {[]string{"DELETE FROM punctual_audit WHERE seq = 42", "UPDATE punctual_audit SET seq = 42 WHERE seq = 43"},
			Fault{42, 43, Changed}},
		"one too many":       {[]string{"INSERT INTO punctual_audit (made_at, user_name, action, seq, hash) VALUES (5, 'eve', 'x', 9, 'y')"}, Fault{9, 301, Added}},
		"one beyond the end": {[]string{"INSERT INTO punctual_audit (made_at, user_name, action, seq, hash) VALUES (5, 'eve', 'x', 301, 'y')"}, Fault{301, 301, Changed}},
		"the end and its mark": {[]string{"DELETE FROM punctual_audit WHERE seq > 290", "UPDATE punctual_audit_mark SET seq = 290, hash = (SELECT hash FROM punctual_audit WHERE seq = 290) WHERE name = 'head'"},
			Fault{291, 0, Cut}}, // known from a shipped entry only
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				c := New(pool, quiet())
				write(t, pool, 300)
				if err := c.ExtendAll(t.Context()); err != nil {
					t.Fatal(err)
				}
				whole := verify(t, c, Place{})
				if whole.Fault != nil || whole.Entries != 300 {
					t.Fatalf("before: %+v", whole)
				}
				if r := verify(t, c, whole.Head); r.Fault != nil || !r.Known {
					t.Fatalf("its own end: %+v", r)
				}
				for _, statement := range tt.harm {
					if _, err := pool.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				if r := verify(t, c, whole.Head); r.Fault == nil || *r.Fault != tt.want {
					t.Errorf("%+v, want %+v", r.Fault, tt.want)
				}
			})
		})
	}
}

func TestAChainThatWasWrittenAnewIsToldByAKnownPlace(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		c := New(pool, quiet())
		write(t, pool, 10)
		if err := c.ExtendAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		known := verify(t, c, Place{}).Head
		for _, statement := range []string{"UPDATE punctual_audit SET user_name = 'eve', seq = 0, hash = ''", "UPDATE punctual_audit_mark SET seq = 0, hash = ''"} {
			if _, err := pool.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.ExtendAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, c, Place{}); r.Fault != nil {
			t.Fatalf("the new chain: %+v", r.Fault)
		}
		if r := verify(t, c, known); r.Fault == nil || r.Fault.Why != Replaced || r.Fault.Seq != 10 {
			t.Errorf("%+v", r.Fault)
		}
	})
}

func TestRetentionLeavesAChainThatCanBeVerified(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		c := New(pool, quiet())
		write(t, pool, 500) // made at 1000 to 1499; none has a place yet
		if err := c.Forget(t.Context(), time.UnixMilli(1333)); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, c, Place{}); r.Fault != nil || r.Entries != 167 || r.Gone != 333 || r.Head.Seq != 500 {
			t.Errorf("%+v, %+v", r, r.Fault)
		}
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM punctual_audit WHERE seq = 334"); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, c, Place{}); r.Fault == nil || *r.Fault != (Fault{334, 0, Missing}) {
			t.Errorf("one more taken away: %+v", r.Fault)
		}
	})
}

// TestRetentionThatGoesOnWhileTheChainIsVerifiedIsNoFault: what it takes before it was read is gone, and not missing.
func TestRetentionThatGoesOnWhileTheChainIsVerifiedIsNoFault(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		c, other := New(pool, quiet()), New(pool, quiet())
		ctx := t.Context()
		page := 0
		for _, tt := range []struct {
			name    string
			at      int // the page after which entries made before a moment are forgotten
			before  int64
			entries int64
			gone    int64
		}{ // of 500 made at 1000 to 1499
			{"what was read, and some that was not", 1, 1333, 367, 333},
			{"all that was not read", 2, 2000, 400, 500},
			{"all of it", 1, 2000, 200, 500},
			{"what came while the end was looked at", 4, 2000, 500, 700},
		} {
			if err := errors.Join(exec(ctx, pool, "DELETE FROM punctual_audit"), exec(ctx, pool, "DELETE FROM punctual_audit_mark")); err != nil {
				t.Fatal(err)
			}
			write(t, pool, 500)
			if err := c.ExtendAll(ctx); err != nil {
				t.Fatal(err)
			}
			page = 0
			c.paged = func() {
				if page++; page != tt.at {
					return
				}
				if tt.gone > 500 {
					write(t, pool, 200)
				}
				if err := other.Forget(ctx, time.UnixMilli(tt.before)); err != nil {
					t.Error(err)
				}
			}
			if r := verify(t, c, Place{}); r.Fault != nil || r.Entries != tt.entries || r.Gone != tt.gone || r.Head.Seq != max(500, tt.gone) || page < tt.at {
				t.Errorf("%s: %+v, %+v, %d pages", tt.name, r, r.Fault, page)
			}
		}
		c.paged = nil
		if err := exec(ctx, pool, "UPDATE punctual_audit_mark SET seq = 3 WHERE name = 'tail'"); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, c, Place{}); r.Fault == nil || r.Fault.Why != Cut {
			t.Errorf("taken away by somebody else: %+v", r.Fault)
		}
	})
}

func exec(ctx context.Context, pool *db.Pool, statement string) error {
	_, err := pool.ExecContext(ctx, statement)
	return err
}

// collector keeps what arrives, and can be away.
type collector struct {
	mu    sync.Mutex
	lines []Line
	away  bool
	some  chan struct{}
}

func newCollector() *collector { return &collector{some: make(chan struct{}, 1)} }

func (c *collector) take(lines ...Line) {
	c.mu.Lock()
	c.lines = append(c.lines, lines...)
	c.mu.Unlock()
	select {
	case c.some <- struct{}{}:
	default:
	}
}

func (c *collector) Name() string { return "collector" }

func (c *collector) Send(_ context.Context, entries []Line) error {
	c.mu.Lock()
	away := c.away
	c.mu.Unlock()
	if away {
		c.take() // somebody tried
		return errors.New("nobody is there")
	}
	c.take(entries...)
	return nil
}

func (c *collector) set(away bool) {
	c.mu.Lock()
	c.away = away
	c.mu.Unlock()
}

// seqs are the places that arrived, in their order.
func (c *collector) seqs() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	var s []int64
	for _, l := range c.lines {
		s = append(s, l.Seq)
	}
	return s
}

// until waits for the places of everything from one to another.
func (c *collector) until(t *testing.T, from, to int64) {
	t.Helper()
	want := make([]int64, 0, to-from+1)
	for s := from; s <= to; s++ {
		want = append(want, s)
	}
	timeout := time.After(executortest.Patience)
	for {
		if got := slices.Compact(slices.Sorted(slices.Values(c.seqs()))); slices.Equal(got, want) {
			return
		}
		select {
		case <-c.some:
		case <-timeout:
			t.Fatalf("arrived: %v, want %d to %d", c.seqs(), from, to)
		}
	}
}

// ship runs a shipper with its chain until the returned function is called.
func ship(t *testing.T, pool *db.Pool, targets ...Target) (c *Chain, stop func()) {
	t.Helper()
	c = New(pool, quiet())
	s := NewShipper(c, targets, quiet(), nil)
	s.pause = func(int) time.Duration { return 10 * time.Millisecond }
	for _, target := range targets { // each begins at the end of the chain as it is now
		if _, err := s.ship(t.Context(), target); err != nil && !strings.Contains(err.Error(), "nobody") {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { c.Run(ctx) })
	all.Go(func() { s.Run(ctx) })
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			all.Wait()
			if _, err := pool.ExecContext(context.Background(), "UPDATE punctual_audit_mark SET until_ms = 0"); err != nil { // as if the hold had run out
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return c, stop
}

func TestWhatATargetMissesArrivesWhenItIsBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		early := New(pool, quiet())
		write(t, pool, 5)
		if err := early.ExtendAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		there := newCollector()
		c, stop := ship(t, pool, there)
		write(t, pool, 3)
		c.Wake()
		there.until(t, 6, 8) // what is older than the target is not its
		there.set(true)
		write(t, pool, 250)
		c.Wake()
		<-there.some
		stop() // and the admin ends meanwhile
		there.set(false)
		c, _ = ship(t, pool, there)
		write(t, pool, 1)
		c.Wake()
		there.until(t, 6, 259)
		if got := there.seqs(); !slices.IsSorted(got) {
			t.Errorf("out of order: %v", got)
		}
	})
}

func TestTwoAdminsShareATarget(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		there := newCollector()
		one, stop := ship(t, pool, there)
		_, _ = ship(t, pool, there)
		write(t, pool, 120)
		one.Wake()
		there.until(t, 1, 120)
		if got := there.seqs(); len(got) != 120 {
			t.Errorf("%d arrived", len(got))
		}
		stop() // the other one goes on
		write(t, pool, 5)
		there.until(t, 1, 125)
	})
}

func targets(t *testing.T, list string) []Target {
	t.Helper()
	parsed, err := ParseTargets(list, "node1")
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestEntriesArriveAtEveryKindOfTarget(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		web := newCollector()
		refuse := 2 // times
		hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name, password, _ := r.BasicAuth(); name != "log" || password != "p w" || r.URL.Query().Get("key") != "k" {
				t.Errorf("authorisation %q %q, query %s", name, password, r.URL.RawQuery)
			}
			if refuse--; refuse >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			for d := json.NewDecoder(r.Body); ; {
				var l Line
				if err := d.Decode(&l); err != nil {
					break
				}
				web.take(l)
			}
		}))
		defer hook.Close()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		stream := newCollector()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				read(t, conn, stream)
			}
		}()
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer packets.Close()
		datagrams := newCollector()
		go func() {
			buffer := make([]byte, 64<<10)
			for {
				n, _, err := packets.ReadFrom(buffer)
				if err != nil {
					return
				}
				datagrams.take(message(t, string(buffer[:n])))
			}
		}()
		c, _ := ship(t, pool, targets(t, fmt.Sprintf("file://%s, %s/hook?key=k syslog+tcp://%s\nsyslog+udp://%s",
			file, strings.Replace(hook.URL, "://", "://log:p%20w@", 1), listener.Addr(), packets.LocalAddr()))...)
		write(t, pool, 7)
		long := db.InsertAuditParams{UserName: "ann", Action: "glue", AfterJSON: db.Text(`{"source":"` + strings.Repeat("x", 90_000) + `"}`)}
		if _, err := db.New().InsertAudit(t.Context(), pool, long); err != nil {
			t.Fatal(err)
		}
		c.Wake()
		web.until(t, 1, 8)
		stream.until(t, 1, 8)
		datagrams.until(t, 1, 8)
		if last := stream.lines[7]; !last.Cut || last.After != nil || last.Hash == "" {
			t.Errorf("what is too long for syslog: %.200s", last.JSON())
		}
		if last := web.lines[len(web.lines)-1]; last.Cut || len(last.After) < 90_000 {
			t.Errorf("the webhook got %d bytes", len(last.After))
		}
		var text []byte
		executortest.Eventually(t, "eight lines in the file", func() (err error) {
			if text, err = os.ReadFile(file); err == nil && bytes.Count(text, []byte("\n")) != 8 {
				err = fmt.Errorf("there is %.600s", text)
			}
			return err
		})
		if !strings.Contains(string(text), `"name":"結算 “\u003cb\u003e”\n0","group":3,"before":{"name":"a"},"after":{"name":"b"},"hash":"`) {
			t.Errorf("the file: %.600s", text)
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
}

// read takes counted messages off a stream.
func read(t *testing.T, conn net.Conn, to *collector) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for {
		count, err := r.ReadString(' ')
		if err != nil {
			return
		}
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil {
			t.Errorf("count %q", count)
			return
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(r, text); err != nil {
			t.Error(err)
			return
		}
		to.take(message(t, string(text)))
	}
}

// message reads one of RFC 5424.
func message(t *testing.T, text string) Line {
	fields := strings.SplitN(text, " ", 8)
	var l Line
	if len(fields) != 8 || fields[0] != "<109>1" || fields[2] != "node1" || fields[3] != "punctual" || fields[6] != "-" {
		t.Errorf("no message: %.300s", text)
		return l
	}
	if err := json.Unmarshal([]byte(fields[7]), &l); err != nil {
		t.Error(err)
	}
	if _, err := time.Parse(time.RFC3339Nano, fields[1]); err != nil || fields[5] != l.Action {
		t.Errorf("%.300s: %v", text, err)
	}
	return l
}

func TestTargetsAreCheckedAndTellNoSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"file://relative/x", "file:audit", "syslog+udp://host", "syslog://host:514", "ftp://host/x", "syslog+tls://host:6514?ca=/nowhere", "http://user:secret@host:99999999999999999999/%zz"} {
		if got, err := ParseTargets(text, "h"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, target := range targets(t, "https://user:secret@host/hook?key=secret syslog+tls://logs:6514 file:///x") {
		if strings.Contains(target.Name(), "secret") {
			t.Error(target.Name())
		}
	}
}

// TestSyslogOverTLSChecksWhoIsThere ships to a collector whose certificate an unknown authority issued, and then to the same with the right one:
// what waited arrives, framed as RFC 5425 says.
func TestSyslogOverTLSChecksWhoIsThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ca, other := executortest.NewCA(t), executortest.NewCA(t)
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t)}, MinVersion: tls.VersionTLS12})
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		stream := newCollector()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if conn.(*tls.Conn).Handshake() != nil {
					_ = conn.Close()
					continue
				}
				read(t, conn, stream)
			}
		}()
		shipTo := func(list string, say *slog.Logger) (s *Shipper, c *Chain, stop func()) {
			c = New(pool, quiet())
			s = NewShipper(c, targets(t, list), say, nil)
			s.pause = func(int) time.Duration { return 10 * time.Millisecond }
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			all.Go(func() { c.Run(ctx) })
			all.Go(func() { s.Run(ctx) })
			stop = sync.OnceFunc(func() {
				cancel()
				all.Wait()
				if _, err := pool.ExecContext(context.Background(), "UPDATE punctual_audit_mark SET until_ms = 0"); err != nil { // as if the hold had run out
					t.Error(err)
				}
			})
			t.Cleanup(stop)
			return s, c, stop
		}
		begin := New(pool, quiet())
		to := "syslog+tls://" + listener.Addr().String()
		if _, err := NewShipper(begin, nil, quiet(), nil).begin(t.Context(), markOf(targets(t, to)[0])); err != nil {
			t.Fatal(err)
		}
		write(t, pool, 3)
		said := make(chan string, 1)
		s, c, stop := shipTo(to+"?ca="+other.File, slog.New(slog.NewTextHandler(told(said), nil)))
		c.Wake()
		select {
		case line := <-said:
			if !strings.Contains(line, "certificate signed by unknown authority") || !strings.Contains(line, "cannot be shipped") {
				t.Errorf("the log: %s", line)
			}
		case <-time.After(executortest.Patience):
			t.Fatal("the log says nothing")
		}
		if list := s.Troubles(); len(list) != 1 || list[0].Target != to || !strings.Contains(list[0].Err.Error(), "unknown authority") || list[0].Since.IsZero() {
			t.Errorf("troubles: %+v", list)
		}
		write(t, pool, 2)
		stop()
		if got := stream.seqs(); len(got) != 0 {
			t.Errorf("somebody unknown got %v", got)
		}
		s, c, _ = shipTo(to+"?ca="+ca.File, quiet())
		c.Wake()
		stream.until(t, 1, 5)
		if list := s.Troubles(); len(list) != 0 {
			t.Errorf("troubles afterwards: %+v", list)
		}
	})
}

// told is a writer that passes on the first line.
type told chan string

func (c told) Write(p []byte) (int, error) {
	select {
	case c <- string(p):
	default:
	}
	return len(p), nil
}
