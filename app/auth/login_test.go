package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// weakHash is that of 123456 as XXL-JOB kept it.
const weakHash = "e10adc3949ba59abbe56e057f20f883e"

func newLogins(pool *db.Pool, atATime int, now func() time.Time) *Logins {
	return NewLogins(pool, NewPasswords(atATime).At(Cost{MemoryKiB: 64, Passes: 1}), NewPlaces(pool, make([]byte, 32), now), now)
}

// loginBundle is a cluster of two admins on one database.
type loginBundle struct {
	*testing.T
	pool  *db.Pool
	now   time.Time
	admin [2]*Logins
	ann   int64
}

func setupLogins(t *testing.T, pool *db.Pool) *loginBundle {
	b := &loginBundle{T: t, pool: pool, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for i := range b.admin {
		b.admin[i] = newLogins(pool, 4, func() time.Time { return b.now })
	}
	b.ann = addUser(t, pool, "ann", weakHash, RoleAdmin, "")
	return b
}

func (b *loginBundle) try(admin int, a Attempt) error {
	_, err := b.admin[admin].Check(b.Context(), a)
	return err
}

// is fails the test unless an error is the one wanted.
func (b *loginBundle) is(err, want error, what string, args ...any) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Fatalf("%s: %v, want %v", fmt.Sprintf(what, args...), err, want)
	}
}

// TestStrangersCannotLockAnybodyOut tries thousands of wrong passwords on a name, from as many addresses and through both admins of a
// cluster. Its owner gets in from a device and from an address known before, at once.
func TestStrangersCannotLockAnybodyOut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupLogins(t, pool)
		places := b.admin[0].places
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		w := httptest.NewRecorder()
		if err := errors.Join(places.keepDevice(w, r, b.ann), places.keep(t.Context(), b.ann, addressPlace("192.0.2.7"))); err != nil {
			t.Fatal(err)
		}
		r.AddCookie(w.Result().Cookies()[0])
		device := b.admin[1].places.Device(r)
		if device == "" {
			t.Fatal("the other admin does not know the device")
		}
		var tried, refused atomic.Int64
		var wg sync.WaitGroup
		attempts, at := 10_000, 8
		if pool.Dialect() != db.SQLite {
			attempts = 2000 // a statement on a socket takes longer
		}
		for worker := range at {
			wg.Go(func() {
				for i := worker; i < attempts; i += at {
					err := b.try(i%2, Attempt{Name: "Ann", Password: "wrong", Address: fmt.Sprintf("10.%d.%d.1", i/250, i%250)})
					switch {
					case errors.Is(err, ErrWrongLogin):
						tried.Add(1)
					case errors.Is(err, ErrTooManyLogins):
						refused.Add(1)
					default:
						t.Errorf("attempt %d: %v", i, err)
					}
				}
			})
		}
		wg.Wait()
		if tried.Load() > attemptsOnName || tried.Load()+refused.Load() != int64(attempts) {
			t.Errorf("%d passwords were tried and %d refused; the cluster allows %d", tried.Load(), refused.Load(), attemptsOnName)
		}
		b.is(b.try(0, Attempt{Name: "ann", Password: "123456", Address: "198.51.100.1"}), ErrTooManyLogins, "from where she never was")
		b.is(b.try(0, Attempt{Name: "ann", Password: "123456", Address: "198.51.100.1", Device: "made up"}), ErrTooManyLogins, "with a device that nobody knows")
		b.is(b.try(1, Attempt{Name: "ann", Password: "123456", Address: "198.51.100.1", Device: device}), nil, "with her device")
		b.is(b.try(0, Attempt{Name: "ann", Password: "123456", Address: "192.0.2.7"}), nil, "from where she was before")
		b.now = b.now.Add(namePause)
		b.is(b.try(0, Attempt{Name: "ann", Password: "123456", Address: "198.51.100.1"}), nil, "from a new place, when they have paused")
	})
}

// TestAPlaceHasFewAttemptsToo guesses from a known device, from a known address, in a session, and from one address at many names.
func TestAPlaceHasFewAttemptsToo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupLogins(t, pool)
		places := b.admin[0].places
		if err := errors.Join(places.keep(t.Context(), b.ann, devicePlace("stolen")), places.keep(t.Context(), b.ann, addressPlace("2001:db8::1"))); err != nil {
			t.Fatal(err)
		}
		for what, a := range map[string]Attempt{
			"device": {Device: "stolen", Address: "10.0.0.9"}, "address": {Address: "2001:db8::2"}, "session": {Session: "s", Address: "10.0.0.9"},
		} {
			a.Name, a.Password = "ann", "wrong"
			for i := range attemptsHere {
				b.is(b.try(i%2, a), ErrWrongLogin, "%s, attempt %d", what, i)
			}
			a.Password = "123456"
			b.is(b.try(0, a), ErrTooManyLogins, "%s, after all of them", what)
			b.now = b.now.Add(pauseHere)
			b.is(b.try(1, a), nil, "%s, after a pause", what)
			a.Password = "wrong"
			b.is(b.try(1, a), ErrWrongLogin, "%s: a success gives the attempts back", what)
		}
		for i := range attemptsPerAddress {
			b.is(b.try(i%2, Attempt{Name: fmt.Sprintf("name%d", i), Password: "x", Address: "10.0.0.1"}), ErrWrongLogin, "name %d", i)
		}
		b.is(b.try(0, Attempt{Name: "ann", Password: "123456", Address: "10.0.0.1"}), ErrTooManyLogins, "one network tries many names")
	})
}

// TestAClockThatIsPutBackShutsNobodyOut: who has tried while it was ahead would have no attempt before that time came.
func TestAClockThatIsPutBackShutsNobodyOut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupLogins(t, pool)
		wrong, right := Attempt{Name: "ann", Password: "wrong", Address: "10.0.0.9"}, Attempt{Name: "ann", Password: "123456", Address: "10.0.0.9"}
		for _, ahead := range []time.Duration{24 * time.Hour, 365 * 24 * time.Hour} {
			b.now = b.now.Add(ahead)
			b.is(b.try(0, wrong), ErrWrongLogin, "by a clock that is %v ahead", ahead)
			b.now = b.now.Add(-ahead)
			tries := 0
			for b.try(tries%2, wrong) == ErrWrongLogin && tries < 1000 {
				tries++
			}
			if tries == 0 || tries == 1000 {
				t.Errorf("%d attempts after a clock was put back by %v", tries, ahead)
			}
			b.now = b.now.Add(30 * 24 * time.Hour) // in which all come back
			b.is(b.try(0, right), nil, "the clock was put back by %v", ahead)
		}
	})
}

// TestANameHasOneSpelling guesses a password from where its owner has logged in, with a name that MySQL takes for theirs: each way to write
// it would have attempts of its own.
func TestANameHasOneSpelling(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupLogins(t, pool)
		if err := b.admin[0].places.keep(t.Context(), b.ann, addressPlace("192.0.2.7")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ánn", "a\u0301nn", "a\u00adnn", "ａnn", "an\u200bn"} {
			b.is(b.try(0, Attempt{Name: name, Password: "123456", Address: "192.0.2.7"}), ErrWrongLogin, "%q", name)
		}
		b.is(b.try(0, Attempt{Name: " ANN ", Password: "123456", Address: "192.0.2.7"}), nil, "in capitals")
	})
}

// TestANewPasswordClearsTheLimits sets one while a name is under attack.
func TestANewPasswordClearsTheLimits(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupLogins(t, pool)
		for i := range attemptsOnName {
			b.is(b.try(0, Attempt{Name: "ann", Password: "wrong", Address: fmt.Sprintf("10.0.0.%d", i)}), ErrWrongLogin, "attempt %d", i)
		}
		b.is(b.try(1, Attempt{Name: "ann", Password: "123456", Address: "10.0.0.1"}), ErrTooManyLogins, "before")
		if err := ForgetAttempts(t.Context(), pool, "Ann"); err != nil {
			t.Fatal(err)
		}
		b.is(b.try(1, Attempt{Name: "ann", Password: "123456", Address: "10.0.0.1"}), nil, "after")
	})
}

// TestProgramsBehindOneAddressMayLogIn deploys more programs at once than there are attempts for an address.
func TestProgramsBehindOneAddressMayLogIn(t *testing.T) {
	t.Parallel()
	b := setupLogins(t, dbtest.New(t, db.SQLite))
	for i := range 2 * attemptsPerAddress {
		b.is(b.try(i%2, Attempt{Name: "ann", Password: "123456", Address: "10.0.0.1"}), nil, "login %d", i)
	}
	for range loginsPerAddress {
		b.admin[0].logins.allow("10.0.0.1", b.now)
	}
	b.is(b.try(0, Attempt{Name: "ann", Password: "123456", Address: "10.0.0.1"}), ErrTooManyLogins, "more than the processor should be asked for")
}

// TestOnlyTheLastAttemptIsGivenOnce lets two admins take at the same time what there is one of.
func TestOnlyTheLastAttemptIsGivenOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		a := attempts{pool: pool, queries: db.New()}
		now := time.Unix(1_800_000_000, 0)
		l := limit{key: "k", burst: 3, pause: time.Second}
		var got atomic.Int64
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				ok, err := a.take(t.Context(), "n", []limit{l}, now)
				if err != nil {
					t.Error(err)
				}
				if ok {
					got.Add(1)
				}
			})
		}
		wg.Wait()
		if got.Load() != 3 {
			t.Errorf("%d of 3 attempts were given", got.Load())
		}
		a.giveBack(t.Context(), []limit{l})
		for i, want := range []bool{true, false} {
			if ok, err := a.take(t.Context(), "n", []limit{l}, now); err != nil || ok != want {
				t.Errorf("attempt %d after one came back: %v, %v", i, ok, err)
			}
		}
		two := []limit{{key: "other", burst: 3, pause: time.Second}, l}
		if ok, err := a.take(t.Context(), "n", two, now); err != nil || ok {
			t.Errorf("a limit without an attempt left: %v, %v", ok, err)
		}
		if rows, err := db.New().ListFullAttempts(t.Context(), pool, []string{two[0].id()}); err != nil || len(rows) != 0 {
			t.Errorf("the other limit was touched: %v, %v", rows, err)
		}
		if err := a.clean(t.Context(), now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if rows, err := db.New().ListFullAttempts(t.Context(), pool, []string{l.id()}); err != nil || len(rows) != 0 {
			t.Errorf("what is full again stays: %v, %v", rows, err)
		}
	})
}

// TestThePlacesOfAUserAreBounded logs in from ever new addresses.
func TestThePlacesOfAUserAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		p := NewPlaces(pool, make([]byte, 32), func() time.Time { return now })
		for i := range maxPlaces + 5 {
			now = now.Add(time.Second)
			if err := p.keep(t.Context(), 1, addressPlace(fmt.Sprintf("10.0.0.%d", i))); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range map[int]bool{4: false, 5: true, maxPlaces + 4: true} {
			if _, is, err := p.known(t.Context(), 1, "", fmt.Sprintf("10.0.0.%d", i)); err != nil || is != want {
				t.Errorf("address %d is known: %v, %v", i, is, err)
			}
		}
		now = now.Add(placeLife + time.Hour)
		if err := p.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, is, err := p.known(t.Context(), 1, "", "10.0.0.50"); err != nil || is {
			t.Errorf("known for ever: %v, %v", is, err)
		}
	})
}

// TestACookieThatWeDidNotSignIsNoDevice shows a forged one, and one of another installation.
func TestACookieThatWeDidNotSignIsNoDevice(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	mine, other := NewPlaces(pool, make([]byte, 32), time.Now), NewPlaces(pool, []byte("another key of thirty-two bytes!"), time.Now)
	w := httptest.NewRecorder()
	if err := other.keepDevice(w, httptest.NewRequest(http.MethodPost, "/login", nil), 1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*http.Cookie{{Name: deviceCookie, Value: "x"}, w.Result().Cookies()[0]} {
		r := httptest.NewRequest(http.MethodPost, "/login", nil)
		r.AddCookie(c)
		if id := mine.Device(r); id != "" {
			t.Errorf("%q is the device %q", c.Value, id)
		}
	}
}

// TestWhoIsKnownDoesNotWaitForStrangers fills the line with strangers: somebody known is the next, and one stranger more is refused.
func TestWhoIsKnownDoesNotWaitForStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(1, 2)
		if err := l.enter(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		turns := make(chan string, 4)
		wait := func(who string, known bool) {
			go func() {
				if err := l.enter(t.Context(), known); err != nil {
					t.Errorf("%s: %v", who, err)
				}
				turns <- who
			}()
			synctest.Wait()
		}
		wait("stranger", false)
		wait("another", false)
		if err := l.enter(t.Context(), false); !errors.Is(err, errBusy) {
			t.Errorf("a third stranger: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- l.enter(gone, true) }()
		synctest.Wait()
		wait("known", true)
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who does not wait any longer: %v", err)
		}
		for _, want := range []string{"known", "stranger", "another"} {
			l.leave()
			if got := <-turns; got != want {
				t.Errorf("the next is %s, want %s", got, want)
			}
		}
		l.leave()
		if l.free != 1 || len(l.known)+len(l.strangers) != 0 {
			t.Errorf("left behind: %+v", l)
		}
	})
}

// asking is a directory in which one person is.
type asking struct {
	fault error
	asked int
}

func (a *asking) CheckPassword(_ context.Context, name, password string) (Principal, error) {
	a.asked++
	if a.fault != nil {
		return Principal{}, a.fault
	}
	if password != "in the directory" {
		return Principal{}, ErrWrongLogin
	}
	return Principal{UserID: 77, Name: name}, nil
}

// TestWhoIsKnownElsewhereIsAskedForThere: all who have no password here. A fault of the directory costs no attempt, and a wrong password does.
func TestWhoIsKnownElsewhereIsAskedForThere(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupLogins(t, pool)
		bob := addUser(t, pool, "bob", "-", RoleUser, "")
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET provider = 'company' WHERE id = ?", bob); err != nil {
			t.Fatal(err)
		}
		a := Attempt{Name: "bob", Password: "in the directory", Address: "10.0.0.1"}
		b.is(b.try(0, a), ErrWrongLogin, "without a directory")
		away, there := errors.New("away"), &asking{}
		b.admin[0].Ask(there, false)
		p, err := b.admin[0].Check(t.Context(), a)
		if err != nil || p.UserID != 77 {
			t.Errorf("bob is %+v, %v", p, err)
		}
		b.is(b.try(0, Attempt{Name: "carl", Password: "in the directory", Address: "10.0.0.1"}), nil, "who is not known here yet")
		b.is(b.try(0, Attempt{Name: "ann", Password: "in the directory", Address: "10.0.0.1"}), ErrWrongLogin, "who has a password here")
		if there.asked != 2 {
			t.Errorf("the directory was asked %d times, want 2", there.asked)
		}
		there.fault = away
		for range 2 * attemptsHere {
			b.is(b.try(0, a), away, "while the directory is away")
		}
		there.fault = nil
		a.Password = "wrong"
		for i := range attemptsHere - 1 {
			b.is(b.try(0, a), ErrWrongLogin, "attempt %d", i)
		}
		a.Password = "in the directory"
		b.is(b.try(0, a), nil, "with the last attempt")
		a.Password = "wrong"
		for i := range attemptsHere {
			b.is(b.try(0, a), ErrWrongLogin, "a success gives the attempts back: attempt %d", i)
		}
		a.Password = "in the directory"
		b.is(b.try(0, a), ErrTooManyLogins, "after all of them")
	})
}

// TestPasswordsThatAreClosedOpenForBreakGlass administrators, or for every one as long as none is marked.
func TestPasswordsThatAreClosedOpenForBreakGlass(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupLogins(t, pool)
		addUser(t, pool, "bob", weakHash, RoleUser, "")
		root := addUser(t, pool, "root", weakHash, RoleAdmin, "")
		b.admin[0].Ask(nil, true)
		opens := func(what string, want map[string]error) {
			t.Helper()
			for name, err := range want {
				b.is(b.try(0, Attempt{Name: name, Password: "123456", Address: "10.0.0.1"}), err, "%s: %s", what, name)
			}
		}
		opens("nobody is marked", map[string]error{"ann": nil, "root": nil, "bob": ErrPasswordClosed})
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET break_glass = 1 WHERE id = ?", root); err != nil {
			t.Fatal(err)
		}
		opens("root is", map[string]error{"ann": ErrPasswordClosed, "root": nil, "bob": ErrPasswordClosed})
		b.admin[0].Ask(nil, false)
		opens("they are not closed", map[string]error{"ann": nil, "root": nil, "bob": nil})
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_user SET break_glass = 1, role = 0 WHERE id = ?", root); err != nil {
			t.Fatal(err)
		}
		b.admin[0].Ask(nil, true)
		opens("one who is no administrator is marked", map[string]error{"root": ErrPasswordClosed})
	})
}

// TestSoManyLoginsAreLookedAtAtATime, unless they come from a device that was there before or from somebody who is logged in.
func TestSoManyLoginsAreLookedAtAtATime(t *testing.T) {
	t.Parallel()
	b := setupLogins(t, dbtest.New(t, db.SQLite))
	for range maxUnderWay {
		b.admin[0].underWay <- struct{}{}
	}
	a := Attempt{Name: "ann", Password: "123456", Address: "10.0.0.1"}
	b.is(b.try(0, a), ErrTooManyLogins, "one more")
	a.Device = "phone"
	b.is(b.try(0, a), nil, "from a device")
	a.Device, a.Session = "", "s"
	b.is(b.try(0, a), nil, "in a session")
	a.Session = ""
	<-b.admin[0].underWay
	for range 2 { // it makes room again
		b.is(b.try(0, a), nil, "when there is room")
	}
}

// TestWhatIsTakenInVainIsGivenBack: a limit has no attempt left when it is taken, although a look said so.
func TestWhatIsTakenInVainIsGivenBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		a := attempts{pool: pool, queries: db.New()}
		now := time.Unix(1_800_000_000, 0)
		first, one := limit{key: "first", burst: 2, pause: time.Second}, limit{key: "one", burst: 1, pause: time.Second}
		for range 3 { // as if somebody had taken it since the look
			if ok, err := a.take(t.Context(), "n", []limit{first, one, one}, now); err != nil || ok {
				t.Fatalf("two are taken where there is one: %v, %v", ok, err)
			}
		}
		for i, want := range []bool{true, true, false} {
			if ok, err := a.take(t.Context(), "n", []limit{first}, now); err != nil || ok != want {
				t.Errorf("attempt %d: %v, %v", i, ok, err)
			}
		}
	})
}

func TestWhoAnAddressStandsFor(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "no address": "no address", "": "",
	} {
		if got := addressKey(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestGuessesAreLimitedAndWhoIsRightIsNot.
func TestGuessesAreLimitedAndWhoIsRightIsNot(t *testing.T) {
	t.Parallel()
	g, now := NewGuesses(time.Second, 3), time.Unix(1_800_000_000, 0)
	for i := range 3 {
		for range 5 { // they ask, and are right
			if !g.Allowed("192.0.2.7", now) {
				t.Fatalf("after %d wrong ones nobody may try", i)
			}
		}
		g.Wrong("192.0.2.7", now)
	}
	for address, want := range map[string]bool{"192.0.2.7": false, "::ffff:192.0.2.7": false, "192.0.2.8": true} {
		if got := g.Allowed(address, now); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if now = now.Add(999 * time.Millisecond); g.Allowed("192.0.2.7", now) {
		t.Error("it may try again before the pause is over")
	}
	if now = now.Add(time.Millisecond); !g.Allowed("192.0.2.7", now) {
		t.Error("it may not try after a pause")
	}
}

// TestLimitersForgetWhenTheClockWasPutBack: those that were all used at a time to come are no reason to look for older ones for ever.
func TestLimitersForgetWhenTheClockWasPutBack(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := newLimiters(time.Second, 10, 100)
	for i := range 100 {
		l.allow(fmt.Sprint(i), now.Add(time.Minute))
	}
	done := make(chan bool, 1)
	go func() { done <- l.allow("new", now) }()
	select {
	case ok := <-done:
		if !ok || l.byKey["new"] == nil || len(l.byKey) > 100 {
			t.Errorf("allowed %v, %d are left", ok, len(l.byKey))
		}
	case <-time.After(executortest.Patience):
		t.Fatal("it looks for ever")
	}
}

// TestLimitersForgetWhatIsFullAgain first, and otherwise a tenth, of those that were not used for long.
func TestLimitersForgetWhatIsFullAgain(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := newLimiters(time.Second, 10, 100) // full again after 10 s
	for i := range 100 {
		at := now
		if i < 3 {
			at = now.Add(-10 * time.Second)
		}
		l.allow(fmt.Sprint(i), at)
	}
	l.allow("0", now) // it was used again
	l.allow("new", now)
	if _, kept := l.byKey["0"]; len(l.byKey) != 99 || !kept {
		t.Errorf("%d are left, the one that was used again: %v", len(l.byKey), kept)
	}
	for i := range 2 {
		l.allow(fmt.Sprint("more", i), now.Add(6*time.Second))
	}
	if n := len(l.byKey); n < 88 || n > 91 {
		t.Errorf("when nothing is full again, %d of 101 are left", n)
	}
	for _, key := range []string{"more0", "more1"} {
		if l.byKey[key] == nil {
			t.Errorf("%s, the newest, is forgotten", key)
		}
	}
}
