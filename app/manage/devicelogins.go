package manage

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
	"unicode"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// DeviceLogins give a program that shows no page of its own an API token, after the flow of RFC 8628: the program asks and shows a code,
// somebody who is logged in finds it by that code and says what the program may, and the program fetches its token, once. Until it does
// there is none: what was said is kept, and the token is made when it is fetched.
type DeviceLogins struct {
	cfg     Config
	queries *db.Queries
	tokens  *APITokens
}

const (
	deviceLoginLife = 10 * time.Minute
	// DeviceLoginPause is how long a program waits before it asks again.
	DeviceLoginPause = 2 * time.Second
	// maxDeviceLogins bounds those that wait, of which one address has only so many: anybody may ask.
	maxDeviceLogins          = 1000
	maxDeviceLoginsOfAddress = 20
	// deviceCodeLetters make no words and are not taken for one another. Eight of them are found by nobody in the time a code counts.
	deviceCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	deviceCodeLength  = 8
)

// The states of the column of that name.
const (
	deviceAsked int64 = iota
	deviceLetIn
	deviceRefused
	deviceTaken
)

// DeviceLogin is a program that asks.
type DeviceLogin struct {
	Code      string // as people compare it, such as BCDF-GHJK
	Program   string // what it says of itself
	Address   string
	AskedAt   time.Time
	ExpiresAt time.Time
}

// DeviceState is what has become of a program that asked.
type DeviceState string

const (
	DeviceWaiting DeviceState = "waiting"
	DeviceLetIn   DeviceState = "approved" // it comes with the token
	DeviceRefused DeviceState = "refused"
	DeviceExpired DeviceState = "expired" // too late, or fetched already
)

// Begin notes that a program at an address asks, and gives what it shows and, apart from that, what it fetches its token with.
func (s *DeviceLogins) Begin(ctx context.Context, address, program string) (d DeviceLogin, secret string, err error) {
	now := s.cfg.Now()
	if _, err := s.queries.DeleteDeviceLoginsBefore(ctx, s.cfg.Pool, now.UnixMilli()); err != nil {
		return d, "", fmt.Errorf("forget device logins: %w", db.Error(err))
	}
	n, err := s.queries.CountDeviceLogins(ctx, s.cfg.Pool, db.CountDeviceLoginsParams{Address: address, NowMs: now.UnixMilli()})
	if err != nil {
		return d, "", fmt.Errorf("count device logins: %w", db.Error(err))
	}
	if n.Total >= maxDeviceLogins || n.OfAddress >= maxDeviceLoginsOfAddress {
		return d, "", &problem.Error{Kind: problem.TooMany}
	}
	d = DeviceLogin{Code: newDeviceCode(), Program: printable(program), Address: address, AskedAt: now, ExpiresAt: now.Add(deviceLoginLife)}
	secret = rand.Text() + rand.Text()
	err = s.queries.InsertDeviceLogin(ctx, s.cfg.Pool, db.InsertDeviceLoginParams{
		ID: auth.HashAPIToken(secret), Code: d.Code, Program: d.Program, Address: d.Address, CreatedAt: now.UnixMilli(), ExpiresAt: d.ExpiresAt.UnixMilli(),
	})
	if err != nil {
		return d, "", fmt.Errorf("note device login: %w", db.Error(err))
	}
	return d, secret, nil
}

// Find is the program that waits under a code, however it was typed.
func (s *DeviceLogins) Find(ctx context.Context, p auth.Principal, code string) (DeviceLogin, error) {
	if p.UserID == 0 {
		return DeviceLogin{}, forbidden()
	}
	row, err := s.queries.FindDeviceLogin(ctx, s.cfg.Pool, db.FindDeviceLoginParams{Code: readDeviceCode(code), NowMs: s.cfg.Now().UnixMilli()})
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return DeviceLogin{}, problem.New(problem.NotFound, "problem.device.gone")
	} else if err != nil {
		return DeviceLogin{}, fmt.Errorf("find device login: %w", err)
	}
	return DeviceLogin{Code: row.Code, Program: row.Program, Address: row.Address, AskedAt: time.UnixMilli(row.CreatedAt), ExpiresAt: time.UnixMilli(row.ExpiresAt)}, nil
}

// LetIn says that the program may have a token of p's.
func (s *DeviceLogins) LetIn(ctx context.Context, p auth.Principal, code string, in APITokenInput) error {
	in.Name = strings.TrimSpace(in.Name)
	if fields := s.tokens.check(p, in, p.Admin); len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	rights, groups := in.scope()
	return s.answer(ctx, p, db.AnswerDeviceLoginParams{State: deviceLetIn, UserID: p.UserID, Name: in.Name, Rights: int64(rights), Admin: flag(in.Admin),
		GroupIds: db.Text(groups), Days: int64(in.Days), Code: code})
}

// Refuse says that it may not.
func (s *DeviceLogins) Refuse(ctx context.Context, p auth.Principal, code string) error {
	return s.answer(ctx, p, db.AnswerDeviceLoginParams{State: deviceRefused, UserID: p.UserID, Code: code})
}

// answer is that of a session which still counts when it is given. What ends a session forgets what it has let in (endSessions), and an answer that
// came after that would make a token of somebody who has just been shut out.
func (s *DeviceLogins) answer(ctx context.Context, p auth.Principal, in db.AnswerDeviceLoginParams) error {
	in.Code, in.NowMs = readDeviceCode(in.Code), s.cfg.Now().UnixMilli()
	return s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		counts, err := s.queries.HoldSession(ctx, tx, db.HoldSessionParams{ID: p.Session, UserID: p.UserID, NowMs: in.NowMs})
		if err != nil {
			return fmt.Errorf("look for the session: %w", db.Error(err))
		}
		if counts == 0 {
			return forbidden()
		}
		n, err := s.queries.AnswerDeviceLogin(ctx, tx, in)
		if err != nil {
			return fmt.Errorf("answer device login: %w", db.Error(err))
		}
		if n == 0 {
			return problem.New(problem.NotFound, "problem.device.gone")
		}
		return nil
	})
}

// Take is what has become of the program that holds a secret. Let in, it gets its token this once.
func (s *DeviceLogins) Take(ctx context.Context, secret string) (state DeviceState, token string, err error) {
	id, now := auth.HashAPIToken(secret), s.cfg.Now().UnixMilli()
	row, err := s.queries.GetDeviceLogin(ctx, s.cfg.Pool, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return "", "", problem.New(problem.NotFound, "problem.device.unknown")
	} else if err != nil {
		return "", "", fmt.Errorf("read device login: %w", err)
	}
	switch {
	case row.State == deviceRefused, row.State == deviceLetIn && row.Disabled != 0:
		return DeviceRefused, "", nil
	case row.State == deviceTaken, row.ExpiresAt <= now:
		return DeviceExpired, "", nil
	case row.State == deviceAsked:
		return DeviceWaiting, "", nil
	}
	owner := auth.Principal{UserID: row.UserID, Name: row.Username, Address: row.Address}
	in := APITokenInput{Name: row.Name, Rights: auth.Rights(row.Rights & 0xff), Admin: row.Admin != 0, Groups: auth.GroupIDs(row.GroupIds), Days: int(row.Days)}
	err = s.cfg.Pool.InTurn(ctx, ObjectAPIToken, func(ctx context.Context, tx *sql.Tx) error {
		state, token = DeviceExpired, "" // somebody else took it, since the try before if there was one, or who let it in has ended that
		n, err := s.queries.TakeDeviceLogin(ctx, tx, db.TakeDeviceLoginParams{ID: id, UserID: owner.UserID, NowMs: now})
		if err != nil || n == 0 {
			return err
		}
		state = DeviceLetIn
		_, token, err = s.tokens.insert(ctx, tx, owner, owner.UserID, in)
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("make API token: %w", err)
	}
	return state, token, nil
}

func newDeviceCode() string {
	random := make([]byte, deviceCodeLength)
	for i := range random {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(deviceCodeLetters)))) // which never fails
		random[i] = deviceCodeLetters[n.Int64()]
	}
	return dashed(string(random))
}

func dashed(letters string) string {
	return letters[:deviceCodeLength/2] + "-" + letters[deviceCodeLength/2:]
}

// readDeviceCode is a code as somebody typed it, with or without its dash.
func readDeviceCode(text string) string {
	letters := strings.Map(func(r rune) rune {
		if r = unicode.ToUpper(r); strings.ContainsRune(deviceCodeLetters, r) {
			return r
		}
		return -1
	}, text)
	if len(letters) != deviceCodeLength {
		return ""
	}
	return dashed(letters)
}

// printable leaves out what moves a cursor or a line.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text))
}
