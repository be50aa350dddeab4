package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestStartAndStopMayBeCalledTwice(t *testing.T) {
	t.Parallel()
	a, err := New(t.Context(), testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := open(t, a).get("/healthz"); got.status != 200 {
		t.Errorf("health: %d", got.status)
	}
	for range 2 {
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Start(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("started after the stop: %v", err)
	}
}

func TestStopWithoutStartGivesEverythingBack(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	for range 2 { // the second could not open the data directory if the first had kept it
		a, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStartAndStopFromEverywhere(t *testing.T) {
	t.Parallel()
	for range 5 {
		a, err := New(t.Context(), testOptions(t))
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				if i%2 == 0 {
					if err := a.Start(t.Context()); err != nil && !errors.Is(err, errStopped) {
						t.Error(err)
					}
				} else if err := a.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestAPortThatIsTakenIsSaid(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o := testOptions(t)
	o.Listener, o.Listen = nil, taken.Addr().String()
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("start: %v", err)
	}
	o.Listen = "127.0.0.1:0"
	b, err := New(t.Context(), o) // nothing is left open
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	a, err := New(t.Context(), testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- a.Run(ctx) }()
	if err := a.Start(ctx); err != nil { // returns when it runs, whoever started it
		t.Fatal(err)
	}
	b := open(t, a).mustLogin()
	now := time.Now()
	if _, err := db.InsertRuns(t.Context(), a.pool, []db.NewRun{{JobGroup: 1, JobID: 1, TriggerTime: a.pool.Wall(now), PlannedAt: now.UnixMilli(), TriggerCode: 500}}); err != nil {
		t.Fatal(err)
	}
	// An open stream does not hold the stop up.
	b.events("/runs/events", func(name, _ string) bool {
		cancel()
		return true
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTheFirstStartMakesItsSecrets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o = unmade(t, o)
		o.AdminPassword, o.AccessToken = "", ""
		first, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if about := first.Welcome(); about.FirstUser != "" {
			t.Errorf("before it is sure of its port: %+v", about)
		}
		if err := first.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		about, token := first.Welcome(), first.Token()
		if about.FirstUser != "admin" || len(about.FirstPassword) < 20 || len(token) < 20 {
			t.Errorf("first start: %+v, token of %d characters", about, len(token))
		}
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.Listener = testOptions(t).Listener // the first has closed its own
		second := start(t, o)
		if again := second.Welcome(); again.FirstUser != "" || again.FirstPassword != "" || second.Token() != token {
			t.Errorf("second start: %+v, the same token: %v", again, second.Token() == token)
		}
		b := open(t, second)
		if got := b.login("admin", about.FirstPassword); got.status != 303 {
			t.Errorf("login: %d", got.status)
		}
		for _, known := range []string{"123456", "admin", "default_token"} {
			if got := open(t, second).login("admin", known); got.status == 303 {
				t.Errorf("the password %q works", known)
			}
			if known == token {
				t.Error("the token is a known one")
			}
		}
	})
}

func TestTwoAdminsStartTogether(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	var passwords, tokens []string
	for range 3 {
		o := testOptions(t)
		o.DatabaseURL, o.AdminPassword, o.AccessToken = url, "", ""
		all.Go(func() {
			a, err := New(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			if err := a.Start(t.Context()); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if p := a.Welcome().FirstPassword; p != "" {
				passwords = append(passwords, p)
			}
			tokens = append(tokens, a.Token())
			if err := a.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(passwords) != 1 {
		t.Errorf("%d admins told a first password", len(passwords))
	}
	for _, token := range tokens {
		if token != tokens[0] {
			t.Error("the admins have different tokens")
		}
	}
}

func TestResetPassword(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_user (username, password, role, permission, service) VALUES ('jenkins', '!', 0, '', 1)"); err != nil {
			t.Fatal(err)
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.Listener = testOptions(t).Listener // the first has closed its own
		if _, err := ResetPassword(t.Context(), o, "jenkins", ""); err == nil || !strings.Contains(err.Error(), "service account") {
			t.Errorf("a password for a service account: %v", err)
		}
		if _, err := ResetPassword(t.Context(), o, "nobody", ""); err == nil || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("a user that does not exist: %v", err)
		}
		if _, err := ResetPassword(t.Context(), o, "admin", "short"); err == nil {
			t.Error("a short password is accepted")
		}
		password, err := ResetPassword(t.Context(), o, "admin", "")
		if err != nil || len(password) < 20 {
			t.Fatalf("%q, %v", password, err)
		}
		b := open(t, start(t, o))
		if got := b.login("admin", testPassword); got.status == 303 {
			t.Error("the old password still works")
		}
		if got := b.login("admin", password); got.status != 303 {
			t.Errorf("the new password: %d", got.status)
		}
	})
}

func TestWrongOptionsAreSaid(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Options){
		func(o *Options) { o.Listen = "8080" },
		func(o *Options) { o.Sample = "maybe" },
		func(o *Options) { o.AdminPassword = "123456" },
		func(o *Options) { o.AccessToken, o.NoAccessToken = "x", true },
		func(o *Options) { o.CallTimeout = time.Hour },
		func(o *Options) { o.PublicURL = "jobs.example.com" },
		func(o *Options) { o.DrainTimeout = -1 },
	} {
		o := testOptions(t)
		change(&o)
		a, err := New(t.Context(), o)
		if _, ok := errors.AsType[*OptionsError](err); !ok || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
		if a != nil {
			_ = a.Stop(t.Context())
		}
	}
}

func TestAnExistingInstallationKeepsItsUsers(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	if _, err := db.New().InsertUser(t.Context(), pool, db.InsertUserParams{Username: "boss", Password: "e10adc3949ba59abbe56e057f20f883e", Role: auth.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	s := settings{pool: pool, queries: db.New(), now: time.Now, logger: slog.New(slog.DiscardHandler)}
	first, password, err := s.ensureAdministrator(t.Context(), auth.NewPasswords(1), "")
	if err != nil || first || password != "" {
		t.Errorf("%v %q %v", first, password, err)
	}
}

// TestTheFirstAdministratorIsMadeAsAWholeOrNotAtAll: a start that fails in the middle leaves nobody whose password was never said.
func TestTheFirstAdministratorIsMadeAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		refuse := "CREATE TRIGGER refuse BEFORE UPDATE ON xxl_job_user FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'"
		if pool.Dialect() == db.SQLite {
			refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON xxl_job_user BEGIN SELECT RAISE(ABORT, 'no'); END"
		}
		s := settings{pool: pool, queries: db.New(), now: time.Now, logger: slog.New(slog.DiscardHandler)}
		for _, statement := range []string{refuse, "DROP TRIGGER refuse"} {
			if _, err := pool.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			first, password, err := s.ensureAdministrator(t.Context(), auth.NewPasswords(1), "")
			if refused := statement == refuse; first == refused || (password == "") != refused || (err != nil) != refused {
				t.Errorf("refused %v: %v, %q, %v", refused, first, password, err)
			}
		}
	})
}

// TestAnAdministratorOfWhomNobodyKnowsIsNamed: where the answer to the commit is lost, the password is said, as it may be that of a user who is there at
// the next start. That start says one only if it is not.
func TestAnAdministratorOfWhomNobodyKnowsIsNamed(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{true, false} {
		t.Run(fmt.Sprintf("made %v", made), func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				sent := dbtest.Watch(t, pool)
				s := settings{pool: pool, queries: db.New(), now: time.Now, logger: slog.New(slog.DiscardHandler)}
				sent.Break(5, nil, dbtest.Fault{With: mysql.ErrInvalidConn, Done: made})
				first, password, err := s.ensureAdministrator(t.Context(), auth.NewPasswords(1), "")
				if name := sent.Broken(); name != "COMMIT" || !first || password == "" || !errors.Is(err, db.ErrUnconfirmed) {
					t.Errorf("after %q: %v, %q, %v", name, first, password, err)
				}
				again, other, err := s.ensureAdministrator(t.Context(), auth.NewPasswords(1), "")
				if again == made || (other == "") != made || err != nil {
					t.Errorf("at the next start: %v, %q, %v", again, other, err)
				}
			})
		})
	}
}
