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
