package openapi

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// What the registry's columns hold (docs/compat.md §2.2).
const (
	maxRegistryGroup = 50
	maxRegistryText  = 255
)

// registry takes an executor's beat or its farewell.
func (a *API) registry(ctx context.Context, body []byte, who caller, do func(context.Context, wire.RegistryRequest, caller) error) error {
	req, err := wire.DecodeRegistry(body)
	if err != nil {
		return refusal(msgInvoke + "the body is not the JSON of a registration.")
	}
	req.RegistryGroup = strings.TrimSpace(req.RegistryGroup)
	req.RegistryKey = strings.TrimSpace(req.RegistryKey)
	req.RegistryValue = strings.TrimSpace(req.RegistryValue)
	if address, ok := wire.NormalPullAddress(req.RegistryValue); ok {
		req.RegistryValue = address
	}
	if req.RegistryGroup == "" || req.RegistryKey == "" || req.RegistryValue == "" {
		return refusal(msgIllegal)
	}
	switch {
	case utf8.RuneCountInString(req.RegistryGroup) > maxRegistryGroup || !plain(req.RegistryGroup):
		return refusal(msgIllegal + " The registryGroup is too long or has odd characters.")
	case utf8.RuneCountInString(req.RegistryKey) > maxRegistryText || !plain(req.RegistryKey):
		return refusal(msgIllegal + " The registryKey is too long or has odd characters.")
	case !isAddress(req.RegistryValue):
		return refusal(msgIllegal + " The registryValue must be http://host:port/, host:port, or pull:// and a name.")
	}
	if !a.Tokens.Speaks(who.scope, who.token, req.RegistryKey) {
		a.Engine.Refused(scheduler.Caller{Address: who.address, AppName: req.RegistryKey}, scheduler.RefusedToken, nil)
		return refusal(msgToken) // it is another group's, or the group has one of its own
	}
	if a.Refuses != nil && !wire.Pulls(req.RegistryValue) && a.Refuses(withScheme(req.RegistryValue)) {
		return refusal(msgDenied)
	}
	err = do(ctx, req, who)
	switch {
	case errors.Is(err, scheduler.ErrUnknownNames):
		return refusal(msgNames)
	case errors.Is(err, scheduler.ErrForeignName):
		return refusal(msgForeign)
	}
	return err
}

// register notes a beat, the token that came with it, and the era: only executors of 3.5 say their app name in a header, and
// those of 2.1 have another one for the token. An address without a scheme may be one of 2.1 that sends no token: what is
// known of it stays.
func (a *API) register(ctx context.Context, req wire.RegistryRequest, who caller) error {
	if err := a.Engine.RegisterWith(ctx, req, auth.Fingerprint(who.token)); err != nil {
		return err
	}
	if !a.Engine.KnowsGroup(req.RegistryKey) {
		a.Engine.Refused(scheduler.Caller{Address: who.address, AppName: req.RegistryKey, Executor: req.RegistryValue}, scheduler.RefusedUnknown, nil)
	}
	dialect := wire.DialectRun
	switch {
	case who.old:
		a.Engine.Refused(scheduler.Caller{Address: who.address, AppName: req.RegistryKey}, scheduler.RefusedTooOld, nil)
		dialect = wire.DialectTooOld
	case who.appName != "":
		dialect = wire.DialectTrigger
	case !strings.Contains(req.RegistryValue, "://"):
		return nil
	}
	return a.Engine.SawDialect(ctx, req.RegistryKey, req.RegistryValue, dialect)
}

func (a *API) deregister(ctx context.Context, req wire.RegistryRequest, _ caller) error {
	return a.Engine.Deregister(ctx, req)
}

// plain says that a text has no characters with which it could break a list, a line or a page.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp) || r == '\ufffd' || strings.ContainsRune(`,<>"'\`, r)
	})
}

// withScheme is an address as it is called.
func withScheme(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	return "http://" + address
}

// isAddress accepts what official executors of any release register: a URL, or host:port before 2.2. The text itself is
// what counts everywhere else, so it is not changed.
func isAddress(text string) bool {
	if len(text) > maxRegistryText || !plain(text) {
		return false
	}
	if wire.Pulls(text) {
		_, ok := wire.NormalPullAddress(text)
		return ok
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
		if u, err := url.Parse(text); err != nil || u.Port() == "" {
			return false
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Contains(u.Hostname(), "%") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && (ip.IsUnspecified() || ip.IsMulticast()) {
		return false
	}
	if port := u.Port(); port != "" {
		n, err := strconv.Atoi(port)
		return err == nil && n >= 1 && n <= 65535
	}
	return !strings.HasSuffix(u.Host, ":")
}

// callback takes the results of runs. Items about nothing are dropped, as upstream does; the answer comes after the
// commit of the others. An executor of ours, which says for how long results have waited, is told which admin this is.
func (a *API) callback(ctx context.Context, body []byte, who caller) (data []byte, err error) {
	callbacks, err := wire.DecodeCallbacks(body)
	if err != nil {
		return nil, refusal(msgInvoke + "the body is not the JSON of a callback.")
	}
	kept := callbacks[:0]
	for _, c := range callbacks {
		if c.LogID <= 0 {
			continue
		}
		if c.HandleCode < 0 || c.HandleCode > math.MaxInt32 {
			// The column could not hold it, and it must not spoil the other results of its statement.
			c.HandleMsg = "handle code " + strconv.Itoa(c.HandleCode) + ": " + c.HandleMsg
			c.HandleCode = wire.CodeFail
		}
		kept = append(kept, c)
	}
	if dropped := len(callbacks) - len(kept); dropped > 0 {
		a.Logger.Debug("callbacks without a run", "count", dropped)
	}
	if len(kept) == 0 {
		return nil, nil
	}
	ours := kept[0].Waited > 0
	by := scheduler.Caller{Address: who.address, AppName: cmp.Or(who.appName, who.scope), Scope: who.scope}
	err = a.Engine.CompleteBy(ctx, by, func(appName string) bool { return a.Tokens.Speaks(who.scope, who.token, appName) }, kept)
	if errors.Is(err, scheduler.ErrNotTheirs) {
		return nil, refusal(msgToken)
	}
	if node := a.Engine.Sender(); err == nil && ours && node != 0 {
		data = strconv.AppendInt(nil, node, 10)
	}
	return data, err
}
