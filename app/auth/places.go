package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/securecookie"

	"github.com/punctual-job/punctual/db"
)

const (
	deviceCookie = "punctual_device"
	// deviceLife is the longest that browsers keep a cookie; each login begins it anew.
	deviceLife = 400 * 24 * time.Hour
	// placeLife is how long a place is remembered at which nobody logs in any more.
	placeLife = 180 * 24 * time.Hour
	// maxPlaces bounds the places of one user: programs in a cluster log in from ever new addresses.
	maxPlaces = 50
)

// Places are the devices and addresses from which users have logged in before. Failed logins from elsewhere do not count against
// them, so that strangers cannot lock anybody out. A device carries a random id in a signed cookie; the database knows its hash.
type Places struct {
	pool    *db.Pool
	queries *db.Queries
	codec   *securecookie.SecureCookie
	now     func() time.Time
}

// NewPlaces keeps places in a database. The key signs the devices' cookie; every admin of the installation must have the same.
func NewPlaces(pool *db.Pool, signKey []byte, now func() time.Time) *Places {
	return &Places{pool: pool, queries: db.New(), now: now, codec: securecookie.New(signKey, nil).MaxAge(int(deviceLife / time.Second))}
}

// Device is the id that a request's device carries, "" for none that we gave out.
func (p *Places) Device(r *http.Request) string {
	cookie, err := r.Cookie(deviceCookie)
	if err != nil {
		return ""
	}
	var id string
	if p.codec.Decode(deviceCookie, cookie.Value, &id) != nil {
		return ""
	}
	return id
}

// keepDevice marks the device of a request as one from which a user has logged in.
func (p *Places) keepDevice(w http.ResponseWriter, r *http.Request, userID int64) error {
	id := p.Device(r)
	if id == "" {
		id = rand.Text()
	}
	value, err := p.codec.Encode(deviceCookie, id)
	if err != nil {
		return fmt.Errorf("write device cookie: %w", err)
	}
	http.SetCookie(w, &http.Cookie{
		Name: deviceCookie, Value: value, Path: "/", MaxAge: int(deviceLife / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: IsHTTPS(r),
	})
	return p.keep(r.Context(), userID, devicePlace(id))
}

// keep remembers a place, and forgets the oldest of very many.
func (p *Places) keep(ctx context.Context, userID int64, place string) error {
	err := p.queries.KeepPlace(ctx, p.pool, db.KeepPlaceParams{UserID: userID, Place: place, SeenAt: p.now().UnixMilli()})
	if err != nil {
		return fmt.Errorf("remember where somebody logged in: %w", db.Error(err))
	}
	oldest, err := p.queries.NthPlace(ctx, p.pool, db.NthPlaceParams{UserID: userID, Offset: maxPlaces})
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil {
		return fmt.Errorf("count the places of a user: %w", err)
	}
	_, err = p.queries.DeletePlacesOfUserBefore(ctx, p.pool, db.DeletePlacesOfUserBeforeParams{UserID: userID, SeenAt: oldest})
	return db.Error(err)
}

// known says at which of two places a user has logged in before.
func (p *Places) known(ctx context.Context, userID int64, device, address string) (byDevice, byAddress bool, err error) {
	ask := []string{addressPlace(address)}
	if device != "" {
		ask = append(ask, devicePlace(device))
	}
	found, err := p.queries.ListPlaces(ctx, p.pool, db.ListPlacesParams{UserID: userID, Places: ask})
	if err != nil {
		return false, false, fmt.Errorf("find where somebody logged in before: %w", db.Error(err))
	}
	for _, place := range found {
		if place == ask[0] {
			byAddress = true
		} else {
			byDevice = true
		}
	}
	return byDevice, byAddress, nil
}

// Clean forgets places at which nobody has logged in for a long time.
func (p *Places) Clean(ctx context.Context) error {
	_, err := p.queries.DeletePlacesBefore(ctx, p.pool, p.now().Add(-placeLife).UnixMilli())
	return db.Error(err)
}

func devicePlace(id string) string       { return "d:" + rowID(id) }
func addressPlace(address string) string { return "a:" + rowID(addressKey(address)) }
