package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// RefusedError is an admin that answered, but not with success.
type RefusedError struct {
	Admin string
	Code  int
	Msg   string
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("admin %s refused: code %d, %s", e.Admin, e.Code, e.Msg)
	if e.WrongToken() {
		text += " Give the executor the admin's, or that of its group there; in a token file it counts without a restart."
	}
	return text
}

// WrongToken says that the admin refused the token that it was shown.
func (e *RefusedError) WrongToken() bool { return Answer{Code: e.Code, Msg: e.Msg}.WrongToken() }

// AdminClient calls the admins of one cluster by turns, so that none of them has the work of all, and the others where one
// fails. They share a database, so that one success is enough.
type AdminClient struct {
	// Token is what the admins are shown; set before the first call.
	Token func() string

	caller
	admins  []*admin
	appName string
	timeout time.Duration
	turn    atomic.Uint32 // whose turn it is, modulo the admins
}

type admin struct {
	base string
	// wantsObject: this admin took callbacks as {"callbackList":[…]} (era J4) and not as an array.
	wantsObject atomic.Bool
	failed      atomic.Pointer[time.Time] // when it last failed; nil: it has not since it last succeeded
	underWay    atomic.Int32              // requests
	node        atomic.Int64              // the number that it last gave itself, see [RunRequest.Node]; 0: none
}

// firstAt is how many requests may be under way to an admin because it is the one that they are about. More go by turns, so that what others
// would take does not wait for one that is frozen.
const firstAt = 2

// avoidFor is how long an admin that failed is asked only after the others: one that does not answer costs a timeout each time.
const avoidFor = 30 * time.Second

func (a *admin) avoided() bool {
	at := a.failed.Load()
	return at != nil && time.Since(*at) < avoidFor
}

func (a *admin) note(err error) {
	if err == nil {
		a.failed.Store(nil)
		return
	}
	now := time.Now()
	a.failed.Store(&now)
}

// NewAdminClient makes a client for the admins at the given base addresses, with whatever context path they have.
// Each attempt at one admin is bounded by timeout (0: 5 s).
func NewAdminClient(client *http.Client, addresses []string, token, appName string, timeout time.Duration) *AdminClient {
	c := &AdminClient{Token: func() string { return token }, caller: newCaller(client), appName: appName, timeout: timeout}
	if c.timeout <= 0 {
		c.timeout = 5 * time.Second
	}
	for _, address := range addresses {
		c.admins = append(c.admins, &admin{base: baseURL(address)})
	}
	return c
}

// Registry says that the executor at req.RegistryValue is alive.
func (c *AdminClient) Registry(ctx context.Context, req RegistryRequest) error {
	return c.call(ctx, "/api/registry", req)
}

// RegistryRemove says that the executor at req.RegistryValue is going away.
func (c *AdminClient) RegistryRemove(ctx context.Context, req RegistryRequest) error {
	return c.call(ctx, "/api/registryRemove", req)
}

// Knows says whether there are several admins, and one of them last called itself by this number.
func (c *AdminClient) Knows(node int64) bool {
	return node != 0 && len(c.admins) > 1 && slices.ContainsFunc(c.admins, func(a *admin) bool { return a.node.Load() == node })
}

// Callback reports how runs ended. It returns nil only when an admin has acknowledged all of them. The first to be asked is the one that
// sent the first of them, where that is known ([Callback.Node]): it has what became of the sending in its hands, and writes both at once.
func (c *AdminClient) Callback(ctx context.Context, callbacks []Callback) error {
	array := encodeCallbacks(callbacks)
	asObject := func(ctx context.Context, a *admin) error { return c.report(ctx, a, encodeCallbackList(callbacks)) }
	node := int64(0)
	if len(callbacks) > 0 {
		node = callbacks[0].Node
	}
	return c.each(ctx, node, func(ctx context.Context, a *admin) error {
		if a.wantsObject.Load() {
			return asObject(ctx, a)
		}
		err := c.report(ctx, a, array)
		refused := (*RefusedError)(nil)
		if !errors.As(err, &refused) {
			return err
		}
		// A 3.5 admin cannot read an array. It did nothing with it, so the same results may go again in its spelling.
		if asObject(ctx, a) == nil {
			a.wantsObject.Store(true)
			return nil
		}
		return err
	})
}

// report is one attempt at one admin, whose answer says which it is.
func (c *AdminClient) report(ctx context.Context, a *admin, body []byte) error {
	answer, err := c.ask(ctx, a, "/api/callback", body)
	if err == nil {
		node, err := strconv.ParseInt(string(answer.Data), 10, 64)
		if err != nil { // XXL-JOB's says nothing
			node = 0
		}
		a.node.Store(node)
	}
	return err
}

func (c *AdminClient) call(ctx context.Context, path string, req any) error {
	body, err := encode(req)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return c.each(ctx, 0, func(ctx context.Context, a *admin) error { return c.try(ctx, a, path, body) })
}

var errNoAdmin = errors.New("no admin address is configured")

// each tries admins until one succeeds, the one of a number first, and joins what the others said.
func (c *AdminClient) each(ctx context.Context, node int64, try func(context.Context, *admin) error) error {
	if len(c.admins) == 0 {
		return errNoAdmin
	}
	var errs []error
	for _, a := range c.order(node) {
		attempt, cancel := context.WithTimeout(ctx, c.timeout)
		a.underWay.Add(1)
		err := try(attempt, a)
		a.underWay.Add(-1)
		c.leave(attempt, err)
		cancel()
		if ctx.Err() == nil { // or it says nothing about the admin
			a.note(err)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// leave gives up the connections over which nothing goes on when an attempt has had no answer in time: where the way to an admin is broken
// without a word, each of those that are kept would cost another attempt. See [Redialling] for HTTP/2.
func (c *AdminClient) leave(attempt context.Context, err error) {
	if err != nil && late(attempt) {
		c.http.CloseIdleConnections()
	}
}

// order is the order in which a call asks the admins: the one of a number, the others by turns, and those that have just failed.
func (c *AdminClient) order(node int64) []*admin {
	turn, n := int(c.turn.Add(1)-1), len(c.admins)
	var first, fine, avoided []*admin
	for i := range n {
		switch a := c.admins[(turn+i)%n]; {
		case a.avoided():
			avoided = append(avoided, a)
		case node != 0 && a.node.Load() == node && a.underWay.Load() < firstAt:
			first = append(first, a)
		default:
			fine = append(fine, a)
		}
	}
	return slices.Concat(first, fine, avoided)
}

func (c *AdminClient) try(ctx context.Context, a *admin, path string, body []byte) error {
	_, err := c.ask(ctx, a, path, body)
	return err
}

// ask is one attempt whose answer matters.
func (c *AdminClient) ask(ctx context.Context, a *admin, path string, body []byte) (Answer, error) {
	answer, err := c.post(ctx, a.base+path, c.Token(), c.appName, body, maxAnswer)
	if err != nil {
		return answer, fmt.Errorf("admin %s: %w", a.base, err)
	}
	if !answer.OK() {
		return answer, &RefusedError{Admin: a.base, Code: answer.Code, Msg: answer.Msg}
	}
	return answer, nil
}
