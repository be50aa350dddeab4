package manage

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestASecondFactorComesWithItsRecoveryCodesOnce: not without them where these cannot be kept, and one app not twice where its first code is sent
// twice, as by a double click.
func TestASecondFactorComesWithItsRecoveryCodesOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, ctx := userBundle(t, pool), t.Context()
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		clock := func() time.Time { return now }
		key := make([]byte, 32)
		f := auth.NewFactors(pool, key, nil, auth.NewPlaces(pool, key, clock), clock, slog.New(slog.DiscardHandler))
		b.Users.cfg.Factors = f
		app, err := f.SetUpCode(b.admin, "Punctual")
		if err != nil {
			t.Fatal(err)
		}
		code, err := totp.GenerateCode(app.Secret, now)
		if err != nil {
			t.Fatal(err)
		}
		rename := func(from, to string) {
			t.Helper()
			if _, err := pool.ExecContext(ctx, "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("punctual_recovery_code", "away")
		_, err = b.Users.AddCode(ctx, b.admin, app.Token, code, "phone")
		rename("away", "punctual_recovery_code")
		if list, _, listed := f.List(ctx, b.admin.UserID); err == nil || listed != nil || len(list) != 0 {
			t.Errorf("without recovery codes there are %+v, %v, %v", list, err, listed)
		}
		if _, err := pool.ExecContext(ctx, "DELETE FROM punctual_factor"); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		codes, errs := make([][]string, 2), make([]error, 2)
		for i := range codes {
			both.Go(func() {
				codes[i], errs[i] = b.Users.AddCode(db.Patient(ctx), b.admin, app.Token, code, "phone")
			})
		}
		both.Wait()
		if errs[0] != nil {
			codes[0], errs[0], codes[1], errs[1] = codes[1], errs[1], codes[0], errs[0]
		}
		if errs[0] != nil || len(codes[0]) == 0 || len(codes[1]) != 0 || kind(errs[1]) != "422 code:second.error.code" {
			t.Errorf("sent twice: %d codes, %v, and %d, %q", len(codes[0]), errs[0], len(codes[1]), kind(errs[1]))
		}
		if list, left, err := f.List(ctx, b.admin.UserID); err != nil || len(list) != 1 || int(left) != len(codes[0]) {
			t.Errorf("there are %+v and %d recovery codes, %v", list, left, err)
		}
	})
}
