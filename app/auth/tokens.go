package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
)

// Tokens are the access tokens that this installation and its executors show each other: one for all, and one for each group
// that has its own. No token is known in advance. After a rotation the one before works too, for as long as was said, so
// that executors can be given the new one in peace.
type Tokens struct {
	pool    *db.Pool
	queries *db.Queries
	now     func() time.Time
	fixed   string     // the common token is a setting of the process, and not rotated here
	open    bool       // no token is asked for, nor sent to groups without one of their own
	seal    *seal.Seal // of what is stored; nil: it is stored as it is
	logger  *slog.Logger

	loading  sync.Mutex
	mu       sync.RWMutex
	byApp    map[string]db.Token // by lower-case app name; "" is the common one
	prints   map[string]string   // the fingerprints of what is in byApp, which each run asks for
	accepted map[string]string   // by executor address, the token that worked with it last
}

// TokensConfig is what [Tokens] are made of.
type TokensConfig struct {
	Pool   *db.Pool
	Now    func() time.Time // default time.Now
	Fixed  string           // the common token, if it is a setting
	Open   bool             // somebody expressly wants none
	Seal   *seal.Seal       // seals what is stored; nil without a secret key
	Logger *slog.Logger     // default slog.Default
}

// NewTokens makes the tokens of an installation. Nothing is known before [Tokens.Load].
func NewTokens(cfg TokensConfig) *Tokens {
	t := &Tokens{pool: cfg.Pool, queries: db.New(), now: cfg.Now, fixed: cfg.Fixed, open: cfg.Open, seal: cfg.Seal, logger: cfg.Logger,
		byApp: make(map[string]db.Token), accepted: make(map[string]string)}
	if t.now == nil {
		t.now = time.Now
	}
	if t.logger == nil {
		t.logger = slog.Default()
	}
	return t
}

// Load reads the tokens, which another admin may have rotated, and makes the common one at the first start of all.
func (t *Tokens) Load(ctx context.Context) error {
	t.loading.Lock() // or an older reading could come last
	defer t.loading.Unlock()
	return t.load(ctx)
}

func (t *Tokens) load(ctx context.Context) error {
	rows, err := t.queries.ListTokens(ctx, t.pool)
	if err != nil {
		return fmt.Errorf("read access tokens: %w", db.Error(err))
	}
	byApp, prints := make(map[string]db.Token, len(rows)), map[string]string{t.fixed: Fingerprint(t.fixed)}
	for _, r := range rows {
		if r, err = t.opened(ctx, r); err != nil {
			return fmt.Errorf("seal access tokens: %w", db.Error(err))
		}
		byApp[strings.ToLower(r.AppName)] = r
		prints[r.Token], prints[r.Previous] = Fingerprint(r.Token), Fingerprint(r.Previous)
	}
	if _, ok := byApp[""]; !ok && t.fixed == "" && !t.open {
		// Of several admins that start together one decides; all read what it was.
		made := db.InsertTokenIfAbsentParams{Token: t.closed("", newToken()), UpdatedAt: t.now().UnixMilli()}
		if _, err := t.queries.InsertTokenIfAbsent(ctx, t.pool, made); err != nil {
			return fmt.Errorf("make the access token: %w", db.Error(err))
		}
		return t.load(ctx)
	}
	t.mu.Lock()
	t.byApp, t.prints = byApp, prints
	t.mu.Unlock()
	return nil
}

// Adopt takes over the tokens that groups had in XXL-JOB 3.5, once. One that everybody knows is left out: the log says whose
// executors have to be given another, or what to set meanwhile.
func (t *Tokens) Adopt(ctx context.Context) error {
	tokens, err := t.pool.GroupTokens(ctx)
	if err != nil || tokens == nil {
		return err
	}
	now := t.now().UnixMilli()
	for app, token := range tokens {
		if KnownToken(token) {
			t.logger.Warn("the token of a group is one that everybody knows, and is not taken over: give its executors another, or set PUNCTUAL_ACCESS_TOKEN to it meanwhile", "group", app)
			continue
		}
		_, err := t.queries.InsertAdoptedToken(ctx, t.pool, db.InsertAdoptedTokenParams{AppName: app, Token: t.closed(app, token), UpdatedAt: now})
		if err != nil {
			return fmt.Errorf("take over the token of %s: %w", app, db.Error(err))
		}
	}
	if err := t.queries.NoteAdoptedTokens(ctx, t.pool, now); err != nil {
		return fmt.Errorf("note that tokens were taken over: %w", db.Error(err))
	}
	return nil
}

// tokenSealed is how a stored token begins that is sealed; none that is made here does.
const tokenSealed = "sealed:"

func tokenPurpose(appName string) string { return "punctual_token " + strings.ToLower(appName) }

// closed is a token as it is stored.
func (t *Tokens) closed(appName, token string) string {
	if t.seal == nil || token == "" {
		return token
	}
	return tokenSealed + t.seal.Close([]byte(token), tokenPurpose(appName))
}

// opened is a stored row with its tokens as they are shown. What stands open although there is a key is sealed: it was written before
// there was one, or by an admin without. A token that cannot be opened is nobody's: what was read before goes on, and otherwise one that
// no executor has takes its place, so that a group with a token of its own does not fall back to the common one.
func (t *Tokens) opened(ctx context.Context, r db.Token) (db.Token, error) {
	stored := r
	for _, text := range []*string{&r.Token, &r.Previous} {
		sealed, ok := strings.CutPrefix(*text, tokenSealed)
		if !ok {
			continue
		}
		var plain []byte
		err := error(seal.ErrOther)
		if t.seal != nil {
			plain, err = t.seal.Open(sealed, tokenPurpose(r.AppName))
		}
		if err != nil {
			return t.unreadable(stored, err), nil
		}
		*text = string(plain)
	}
	open := func(text string) bool { return text != "" && !strings.HasPrefix(text, tokenSealed) }
	if t.seal == nil || !open(stored.Token) && !open(stored.Previous) {
		return r, nil
	}
	_, err := t.queries.SealToken(ctx, t.pool, db.SealTokenParams{
		AppName: r.AppName, OldToken: stored.Token, OldPrevious: stored.Previous, Token: t.closed(r.AppName, r.Token), Previous: t.closed(r.AppName, r.Previous),
	})
	return r, err
}

func (t *Tokens) unreadable(r db.Token, err error) db.Token {
	t.mu.RLock()
	old, known := t.byApp[strings.ToLower(r.AppName)]
	t.mu.RUnlock()
	if !known {
		t.logger.Error("a stored access token cannot be opened, so none is accepted in its place: give this admin the secret key of the others, or rotate the token",
			"group", r.AppName, "error", err)
		old = r
		old.Token, old.Previous = newToken(), ""
	}
	return old
}

func newToken() string { return strings.ToLower(rand.Text()) }

// Common is the token for all groups without one of their own; "" when none is asked for.
func (t *Tokens) Common() string { return t.current("") }

func (t *Tokens) current(appName string) string {
	if appName == "" && t.fixed != "" {
		return t.fixed
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byApp[strings.ToLower(appName)].Token
}

// For is the token to show to the executors of a group.
func (t *Tokens) For(appName string) string {
	if own := t.current(appName); own != "" {
		return own
	}
	return t.Common()
}

// valid are the tokens that count for one app name, "" for the common ones: the current, and the one before while it works.
func (t *Tokens) valid(appName string) []string {
	var tokens []string
	if appName == "" && t.fixed != "" {
		tokens = append(tokens, t.fixed)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	r, ok := t.byApp[strings.ToLower(appName)]
	if !ok {
		return tokens
	}
	if appName != "" || t.fixed == "" {
		tokens = append(tokens, r.Token)
	}
	if r.Previous != "" && t.now().UnixMilli() < r.PreviousUntil {
		tokens = append(tokens, r.Previous)
	}
	return tokens
}

// Check reports whether a token lets its bearer in, and as whom: scope is the app name of the group whose own token it is,
// or "" for the common token. An app name that the bearer gives narrows what counts to that group's and the common one.
func (t *Tokens) Check(appName, given string) (scope string, ok bool) {
	if anySame(t.valid(""), given) {
		return "", true
	}
	if appName != "" {
		return appName, anySame(t.valid(appName), given)
	}
	t.mu.RLock()
	names := make([]string, 0, len(t.byApp))
	for name := range t.byApp {
		names = append(names, name)
	}
	t.mu.RUnlock()
	for _, name := range names {
		if name != "" && anySame(t.valid(name), given) {
			return name, true
		}
	}
	return "", t.open
}

func anySame(tokens []string, given string) bool {
	same := false
	for _, token := range tokens {
		same = sameToken(token, given) || same
	}
	return same
}

// Speaks says whether a caller whom [Tokens.Check] let in may speak for a group: register its executors and report its results.
// Once a group has a token of its own, the common one counts for nothing there, but for the time that was chosen to hand over.
func (t *Tokens) Speaks(scope, given, appName string) bool {
	switch {
	case scope != "":
		return strings.EqualFold(scope, appName)
	case t.current(appName) == "":
		return true
	}
	return anySame(t.valid(appName), given)
}

// Fingerprint stands for a token where it is only to be recognised; "" for none.
func Fingerprint(token string) string {
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("punctual " + token))
	return hex.EncodeToString(sum[:16])
}

// print is the fingerprint of a token that counts here.
func (t *Tokens) print(token string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if known, ok := t.prints[token]; ok {
		return known
	}
	return Fingerprint(token)
}

// Bearer is an executor that is to be called.
type Bearer struct {
	AppName string // under which it is known
	Address string
	Shown   string // the fingerprint of the token that it registered with; "" if that is not on record
	Typed   bool   // an administrator typed the address for the group
	Known   bool   // it registered, or was typed
}

// Send is the token to send to an executor, and another to try when it refuses the first. An executor is only ever sent what it
// has shown, or what counts for the group for which an administrator typed its address; and no second one, except predecessor
// and successor of one rotation. Otherwise whoever registers an address and refuses would be handed one token after another.
func (t *Tokens) Send(b Bearer) (token, other string) {
	if !b.Known {
		return "", ""
	}
	appName, own := b.AppName, t.current(b.AppName) != ""
	if !own {
		appName = ""
	}
	valid := t.valid(appName)
	if len(valid) == 0 {
		return "", ""
	}
	handover := own && t.handover(appName)
	for i, v := range valid {
		if b.Shown != "" && t.print(v) == b.Shown || b.Typed && t.worked(b.Address, v) {
			valid[0], valid[i] = valid[i], valid[0]
			if handover && !b.Typed {
				return valid[0], ""
			}
			return first(valid)
		}
	}
	if b.Typed || b.Shown == "" && !own { // the common one, shown to an admin that does not write it down
		return first(valid)
	}
	return "", ""
}

func first(tokens []string) (one, other string) {
	if len(tokens) > 1 {
		other = tokens[1]
	}
	return tokens[0], other
}

func (t *Tokens) handover(appName string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byApp[strings.ToLower(appName)].Handover != 0
}

// Worked notes the token that an executor has accepted, which is then the first to try with an address that somebody typed.
func (t *Tokens) Worked(address, token string) {
	if address == "" || token == "" || t.worked(address, token) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.accepted) > maxAccepted {
		clear(t.accepted)
	}
	t.accepted[address] = token
}

func (t *Tokens) worked(address, token string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.accepted[address] == token
}

const maxAccepted = 10_000

// TokenState is what a page shows of a token.
type TokenState struct {
	Token         string
	Own           bool      // the group has its own; otherwise Token is the common one
	Fixed         bool      // a setting of the process: it cannot be rotated here
	PreviousUntil time.Time // until when the one before works; zero when it does not
	Handover      bool      // the one before is the common one
}

// State tells about a group's token, or with "" about the common one.
func (t *Tokens) State(appName string) TokenState {
	s := TokenState{Token: t.For(appName), Own: appName != "" && t.current(appName) != ""}
	key := ""
	if s.Own {
		key = strings.ToLower(appName)
	}
	s.Fixed = key == "" && t.fixed != ""
	t.mu.RLock()
	defer t.mu.RUnlock()
	if r, ok := t.byApp[key]; ok && t.now().UnixMilli() < r.PreviousUntil {
		s.PreviousUntil, s.Handover = time.UnixMilli(r.PreviousUntil), r.Handover != 0
	}
	return s
}

// ErrTokenFixed means that the common token is a setting of the process.
var ErrTokenFixed = fmt.Errorf("the access token is set by PUNCTUAL_ACCESS_TOKEN: change it there")

// Rotate makes a new token for a group, its own from now on, or with "" the common one. The one before works for grace: for a
// group that had none of its own that is the common one.
func (t *Tokens) Rotate(ctx context.Context, appName string, grace time.Duration) (string, error) {
	if appName == "" && t.fixed != "" {
		return "", ErrTokenFixed
	}
	made := db.Token{AppName: appName, Token: newToken()}
	err := t.pool.InTurn(ctx, "token", func(ctx context.Context, tx *sql.Tx) error {
		if err := t.load(ctx); err != nil { // another admin may have rotated it a moment ago
			return err
		}
		now := t.now()
		made.UpdatedAt = now.UnixMilli()
		row := db.SetTokenParams{AppName: appName, Token: t.closed(appName, made.Token), UpdatedAt: made.UpdatedAt}
		if old := t.For(appName); old != "" && grace > 0 {
			made.Previous, made.PreviousUntil = old, now.Add(grace).UnixMilli()
			if appName != "" && t.current(appName) == "" {
				made.Handover = 1
			}
			row.Previous, row.PreviousUntil, row.Handover = t.closed(appName, old), made.PreviousUntil, made.Handover
		}
		return t.queries.SetToken(ctx, tx, row)
	})
	if err != nil {
		return "", fmt.Errorf("keep access token: %w", db.Error(err))
	}
	t.pool.AfterCommit(ctx, func(ctx context.Context) { t.changed(ctx, appName, &made) })
	return made.Token, nil
}

// changed has this admin go by a token that was made, or dropped (nil), and by what others have changed. That these could not be read is no reason to do
// again what is done: they are read anew soon.
func (t *Tokens) changed(ctx context.Context, appName string, made *db.Token) {
	t.put(appName, made)
	if err := t.Load(context.WithoutCancel(ctx)); err != nil {
		t.logger.Warn("go by access tokens that were changed", "error", err)
	}
}

// Drop takes a group's own token away; the common one counts for it again.
func (t *Tokens) Drop(ctx context.Context, appName string) error {
	if appName == "" {
		return nil
	}
	if _, err := t.queries.DeleteToken(ctx, t.pool, appName); err != nil {
		return fmt.Errorf("drop access token: %w", db.Error(err))
	}
	t.pool.AfterCommit(ctx, func(ctx context.Context) { t.changed(ctx, appName, nil) })
	return nil
}

func (t *Tokens) put(appName string, made *db.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := strings.ToLower(appName)
	if made == nil {
		delete(t.byApp, key)
		return
	}
	if t.byApp[key].UpdatedAt <= made.UpdatedAt { // not a later one
		t.byApp[key], t.prints[made.Token] = *made, Fingerprint(made.Token)
	}
}
