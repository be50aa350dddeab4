package console

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
)

// flash is a message for the next page. It travels in a signed cookie as a key and its values, so that it is said in the
// language of the page that shows it.
type flash struct {
	Kind layout.FlashKind
	Key  string
	Args []string // pairs of a name and its value
	Undo *layout.Undo
}

const (
	flashCookie = "punctual_flash"
	flashLife   = time.Minute
)

func done(key string, args ...string) flash {
	return flash{Kind: layout.FlashSuccess, Key: key, Args: args}
}

// undoneBy offers to take back what was done.
func (f flash) undoneBy(u layout.Undo) flash {
	f.Undo = &u
	return f
}

func (f flash) drawn(page layout.Page) layout.Flash {
	return layout.Flash{Kind: f.Kind, Text: f.text(page.Printer), Undo: f.Undo}
}

func (f flash) text(p *locales.Printer) string {
	args := make([]any, len(f.Args))
	for i, a := range f.Args {
		args[i] = a
	}
	return p.T(f.Key, args...)
}

func (c *frame) leaveFlash(ec echo.Context, f flash) error {
	if f.Key == "" {
		return nil
	}
	for i, a := range f.Args { // a cookie is small
		if r := []rune(a); len(r) > 200 {
			f.Args[i] = string(r[:200]) + "…"
		}
	}
	value, err := c.cookie.Encode(flashCookie, f)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	ec.SetCookie(ownCookie(ec.Request(), flashCookie, value, flashLife))
	return nil
}

// takeFlash reads the message and removes it. One that was not signed by us is no message.
func (c *frame) takeFlash(ec echo.Context) (flash, bool) {
	value := cookieValue(ec.Request(), flashCookie)
	if value == "" {
		return flash{}, false
	}
	ec.SetCookie(&http.Cookie{Name: flashCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: auth.IsHTTPS(ec.Request())})
	var f flash
	if err := c.cookie.Decode(flashCookie, value, &f); err != nil {
		return flash{}, false
	}
	return f, true
}

// ageless signs cookies, and with a second key encrypts them, that browsers keep for as long as they are told. The library would have them end by the
// clock of whichever machine is asked, and that decides nothing.
func ageless(signKey, encryptKey []byte) *securecookie.SecureCookie {
	return securecookie.New(signKey, encryptKey).MaxAge(0)
}
