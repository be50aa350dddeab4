package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
)

// An API token is "pnc_", 30 random letters and digits, and 6 that are their CRC-32: scanners for secrets find it by its form, and
// one that was copied wrong is told from one that does not count. 30 of 62 characters are 178 bits.
const (
	apiTokenPrefix = "pnc_"
	apiTokenRandom = 30
	apiTokenCheck  = 6
	base62         = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewAPIToken makes a token.
func NewAPIToken() string {
	var b strings.Builder
	for range apiTokenRandom {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(base62)))) // never fails: the program ends when there is no randomness
		b.WriteByte(base62[n.Int64()])
	}
	return apiTokenPrefix + b.String() + apiTokenChecksum(b.String())
}

func apiTokenChecksum(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	check := make([]byte, apiTokenCheck)
	for i := range check {
		check[apiTokenCheck-1-i] = base62[sum%62]
		sum /= 62
	}
	return string(check)
}

// IsAPIToken says whether a text has a token's form and its checksum is right.
func IsAPIToken(text string) bool {
	random, ok := strings.CutPrefix(text, apiTokenPrefix)
	if !ok || len(random) != apiTokenRandom+apiTokenCheck {
		return false
	}
	return apiTokenChecksum(random[:apiTokenRandom]) == random[apiTokenRandom:]
}

// APITokenHint is what of a token is shown afterwards.
func APITokenHint(token string) string { return token[:len(apiTokenPrefix)+4] + "…" }

// HashAPIToken is a token as it is stored. It is long and random, so that a plain hash says nothing about it.
func HashAPIToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// maxName is how many characters the name of a [Principal] has: columns that say who did something hold no more.
const maxName = 64

// What an API token may be refused for.
var (
	ErrTokenForm    = errors.New("this is no API token, or it was not copied as a whole: its checksum is wrong")
	ErrTokenUnknown = errors.New("the API token is not known here")
	ErrTokenExpired = errors.New("the API token has expired")
	ErrTokenRevoked = errors.New("the API token was revoked")
	ErrTokenOwner   = errors.New("the owner of the API token is disabled")
	// ErrTooManyTokens means that too many wrong tokens came from an address lately.
	ErrTooManyTokens = errors.New("too many refused API tokens")
)

// IsTokenRefusal tells a token that does not count from a fault that has nothing to do with it.
func IsTokenRefusal(err error) bool {
	return slices.ContainsFunc([]error{ErrTokenForm, ErrTokenUnknown, ErrTokenExpired, ErrTokenRevoked, ErrTokenOwner, ErrTooManyTokens},
		func(refusal error) bool { return errors.Is(err, refusal) })
}

// Refused tokens: a program with an old one asks again and again, and must neither fill the log nor keep the database busy.
const (
	tokensPerAddress = 20
	tokenPause       = 3 * time.Second
	touchTokenEvery  = time.Minute
	maxGoodTokens    = 10_000
)

// APITokens finds out for whom a token acts.
type APITokens struct {
	pool    *db.Pool
	queries *db.Queries
	now     func() time.Time
	logger  *slog.Logger
	refused *Guesses
	note    func(ctx context.Context, p Principal, id int64, name string, err error)

	mu   sync.Mutex
	good map[string]struct{} // hashes that counted lately: somebody's guesses from the same address do not shut them out
}

// NewAPITokens makes them over a database. note is told of every token that is refused: if it is known, with its owner and its number;
// name is what can be told of it.
func NewAPITokens(pool *db.Pool, now func() time.Time, logger *slog.Logger, note func(ctx context.Context, p Principal, id int64, name string, err error)) *APITokens {
	return &APITokens{note: note, pool: pool, queries: db.New(), now: now, logger: logger,
		refused: NewGuesses(tokenPause, tokensPerAddress), good: make(map[string]struct{})}
}

// Find is the owner of a token, with no more rights than the token's scope and the owner have now. The errors are those above, or the
// database's.
func (a *APITokens) Find(ctx context.Context, token, address string) (Principal, error) {
	now, hash := a.now(), HashAPIToken(token)
	if !a.isGood(hash) && !a.refused.Allowed(address, now) {
		a.note(ctx, Principal{Address: address}, 0, "", ErrTooManyTokens)
		return Principal{}, ErrTooManyTokens
	}
	p, row, err := a.find(ctx, token, hash, now)
	if err != nil {
		if IsTokenRefusal(err) {
			a.refused.Wrong(address, now)
			a.setGood(hash, false)
			a.logger.Warn("an API token was refused", "remote", address, "token_id", row.ID, "error", err)
			name := row.Name
			if name == "" && IsAPIToken(token) {
				name = APITokenHint(token)
			}
			a.note(ctx, Principal{UserID: row.UserID, Name: row.Username, Address: address}, row.ID, name, err)
		}
		return Principal{}, err
	}
	a.setGood(hash, true)
	if now.UnixMilli()-row.UsedAt >= touchTokenEvery.Milliseconds() {
		// That it was used is worth knowing, and no reason to refuse it.
		_ = a.queries.TouchAPIToken(ctx, a.pool, db.TouchAPITokenParams{ID: row.ID, UsedAt: now.UnixMilli(), UsedFrom: short(address, 64)})
	}
	p.Address = address
	return p, nil
}

func (a *APITokens) find(ctx context.Context, token, hash string, now time.Time) (Principal, db.FindAPITokenRow, error) {
	if !IsAPIToken(token) {
		return Principal{}, db.FindAPITokenRow{}, ErrTokenForm
	}
	row, err := a.queries.FindAPIToken(ctx, a.pool, hash)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound):
		return Principal{}, row, ErrTokenUnknown
	case err != nil:
		return Principal{}, db.FindAPITokenRow{}, fmt.Errorf("find API token: %w", err)
	case row.RevokedAt != 0:
		return Principal{}, row, ErrTokenRevoked
	case row.ExpiresAt != 0 && row.ExpiresAt <= now.UnixMilli():
		return Principal{}, row, ErrTokenExpired
	case row.Disabled != 0:
		return Principal{}, row, ErrTokenOwner
	}
	owner := NewPrincipal(row.UserID, row.Username, row.Role, row.Permission)
	owner.Service = row.Service != 0
	if !owner.Admin {
		if owner, err = withGranted(ctx, a.queries, a.pool, owner); err != nil {
			return Principal{}, db.FindAPITokenRow{}, err
		}
	}
	p := owner.Narrow(Rights(row.Rights&0xff), row.Admin != 0, row.GroupIds)
	p.Name = short(owner.Name+" via token "+row.Name, maxName)
	return p, row, nil
}

func (a *APITokens) isGood(hash string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.good[hash]
	return ok
}

func (a *APITokens) setGood(hash string, good bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !good {
		delete(a.good, hash)
		return
	}
	if len(a.good) >= maxGoodTokens {
		clear(a.good)
	}
	a.good[hash] = struct{}{}
}

// Narrow is p with no more than some rights in some groups, a list as XXL-JOB's permission is one; an empty list stands for all
// groups that p has. An administrator remains one only with admin and all groups, and an auditor with all groups.
func (p Principal) Narrow(rights Rights, admin bool, groupIDs string) Principal {
	rights = rights.Normal()
	only := GroupIDs(db.Text(groupIDs))
	everywhere := strings.TrimSpace(groupIDs) == ""
	was := p
	p.groups, p.all = make(map[int64]Rights), 0
	switch {
	case was.Admin && admin && everywhere:
		return p
	case was.Admin && everywhere:
		p.all = rights
	case was.Admin:
		for _, id := range only {
			p.groups[id] = rights
		}
	default:
		if everywhere {
			only, p.all = slices.Collect(maps.Keys(was.groups)), was.all&rights
		}
		for _, id := range only {
			if r := ((was.groups[id] | was.all) & rights).Normal(); r != 0 {
				p.groups[id] = r
			}
		}
	}
	p.Admin, p.Auditor = false, was.Auditor && everywhere && rights.Has(RightView)
	return p
}
