package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/webclient"
)

// Reason says why an event was not taken, as rows have it.
type Reason string

const (
	Answered  Reason = "answered" // a status that asks to come again
	Refused   Reason = "refused"  // a status that says that this event will never be taken
	Redirect  Reason = "redirect" // it is somewhere else, and redirects are not followed
	TimedOut  Reason = "timeout"  // no answer in time
	Unreached Reason = "connect"  // nobody listened
	Broken    Reason = "broken"   // it was sent, and what came was no answer: the connection was closed, or HTTP is not spoken there
	Name      Reason = "name"     // the host's name is not known
	TLS       Reason = "tls"      // the certificate, or the way of encrypting
	Private   Reason = "private"  // the address is inside, and that is forbidden
	Sealed    Reason = "sealed"   // its settings cannot be opened with this installation's key
	Gone410   Reason = "gone"     // the receiver said that it is gone for good
	Unsound   Reason = "unsound"  // the event cannot be put into words
)

const (
	pageSize   = 500
	maxHeld    = 20 * pageSize // events behind refused ones that are passed over for others
	maxBlocked = 1000          // refused events that wait for another try, from which on nothing else is sent
	maxAnswer  = 255           // bytes of an answer that are kept
	grace      = 3 * time.Second
)

// result is what became of a try.
type result struct {
	status int
	reason Reason // empty: it was taken
	answer string
	wait   time.Duration // that the receiver asked for
}

// refuses says that the receiver is well, and does not want this event.
func (r *result) refuses() bool { return r.reason == Refused || r.reason == Unsound }

// drain sends what waits for a webhook until there is no more, or its receiver fails. It goes by how the webhook is before each page: where events
// come as fast as they are sent, there always is another page.
func (s *Service) drain(ctx context.Context, h db.Webhook) error {
	for ctx.Err() == nil && s.cfg.Ready() {
		now := s.cfg.Now()
		held, err := s.queries.HoldWebhook(ctx, s.cfg.Pool, s.lease(h.ID, h.Holder, now))
		if err != nil || held == 0 {
			return err
		}
		h, err = s.queries.GetWebhook(ctx, s.cfg.Pool, h.ID)
		if errors.Is(db.Error(err), db.ErrNotFound) || err == nil && !s.due(&h, now) {
			return nil
		} else if err != nil {
			return err
		}
		more, err := s.drainPage(ctx, &h, now)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// holderNode begins the holder of a lease that is a node of the cluster.
const holderNode = "node "

// holder is this admin as leases have it.
func (s *Service) holder() string {
	if node := s.cfg.Node(); node != 0 {
		return holderNode + strconv.FormatInt(node, 10)
	}
	return s.name
}

// lease is what takes or renews that of a webhook, whose holder was seen. That one may be gone from the cluster: the table of nodes says so, as
// it does to those who take over its runs.
func (s *Service) lease(id int64, seen string, now time.Time) db.HoldWebhookParams {
	p := db.HoldWebhookParams{ID: id, Holder: s.holder(), LeaseUntil: now.Add(s.cfg.Lease).UnixMilli(), NowMs: now.UnixMilli()}
	p.HolderSeen = p.Holder
	if node, is := strings.CutPrefix(seen, holderNode); is {
		if id, err := strconv.ParseInt(node, 10, 64); err == nil {
			p.HolderSeen, p.NodeSeen = seen, id
		}
	}
	return p
}

// due says whether a webhook is sent to now.
func (s *Service) due(h *db.Webhook, now time.Time) bool {
	return State(h.State) == On && !s.waits(h.RestUntil, now)
}

// waits says whether a time has not come, and is no farther off than any that is noted. One that is was noted before the clock was put back: until it
// came, which may be days, nothing would be sent.
func (s *Service) waits(until int64, now time.Time) bool {
	most := max(s.cfg.MaxRest, s.cfg.Pauses<<s.cfg.Tries, webclient.Pause(math.MaxInt64))
	return until > now.UnixMilli() && until <= now.Add(most).UnixMilli()
}

// next reads what is to be sent now: of each thing the first event that waits, unless that was refused and its time has not come. What
// follows about it is read when that one is on record as taken, so that an admin that dies in between never sends it again after a later one.
func (s *Service) next(ctx context.Context, h *db.Webhook, now time.Time) (page []db.WebhookDelivery, err error) {
	refused, err := s.queries.ListRefusedDeliveries(ctx, s.cfg.Pool, db.ListRefusedDeliveriesParams{WebhookID: h.ID, Limit: maxBlocked})
	if err != nil {
		return nil, err
	}
	blocked := make(map[key]int64) // the first that waits, by what it is about
	for i := range refused {
		if d := &refused[i]; s.waits(d.NextAt, now) {
			if id, there := blocked[keyOf(d)]; !there || d.ID < id {
				blocked[keyOf(d)] = d.ID
			}
		} else {
			page = append(page, *d)
		}
	}
	held := func(d db.WebhookDelivery) bool {
		first, there := blocked[keyOf(&d)]
		return there && first < d.ID
	}
	page = slices.DeleteFunc(page, held)
	if len(refused) < maxBlocked {
		fresh, err := s.fresh(ctx, h.ID, held)
		if err != nil {
			return nil, err
		}
		page = append(page, fresh...)
	}
	slices.SortFunc(page, func(a, b db.WebhookDelivery) int { return cmp.Compare(a.ID, b.ID) })
	there := make(map[key]bool, len(page))
	page = slices.DeleteFunc(page, func(d db.WebhookDelivery) bool {
		k := keyOf(&d)
		second := there[k]
		there[k] = true
		return second
	})
	if h.Failures > 0 && len(page) > 1 {
		page = page[:1] // whether it is well again
	}
	return page, nil
}

// fresh reads events that were not refused yet and are not held back by others: so many that wait behind the first about the same thing are passed
// over, until there is one for each that sends.
func (s *Service) fresh(ctx context.Context, webhookID int64, held func(db.WebhookDelivery) bool) (fresh []db.WebhookDelivery, err error) {
	after, there := int64(0), make(map[key]bool)
	for range maxHeld / pageSize {
		page, err := s.queries.ListFreshDeliveries(ctx, s.cfg.Pool, db.ListFreshDeliveriesParams{WebhookID: webhookID, AfterID: after, Limit: pageSize})
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			if after = d.ID; !held(d) && !there[keyOf(&d)] {
				there[keyOf(&d)] = true
				fresh = append(fresh, d)
			}
		}
		if len(page) < pageSize || len(fresh) >= s.cfg.Parallel {
			break
		}
	}
	return fresh, nil
}

// key is what events are kept in order by.
type key struct{ run, job, group int64 }

func keyOf(d *db.WebhookDelivery) key {
	switch {
	case d.LogID != 0:
		return key{run: d.LogID}
	case d.JobID != 0:
		return key{job: d.JobID}
	}
	return key{group: d.JobGroup}
}

// drainPage sends a page, and says whether there may be more to send now.
func (s *Service) drainPage(ctx context.Context, h *db.Webhook, now time.Time) (more bool, err error) {
	page, err := s.next(ctx, h, now)
	if err != nil || len(page) == 0 {
		return false, err
	}
	a, err := s.readAbout(ctx, page)
	if err != nil {
		return false, err
	}
	read := len(page)
	if page, err = s.tagged(ctx, h, page, &a); err != nil {
		return false, err
	}
	settings, err := s.Open(h)
	if err != nil {
		s.log.Warn("a webhook's settings cannot be read", "webhook", h.Name, "error", err)
		return false, s.trouble(ctx, h, result{reason: Sealed}, now)
	}
	signers, err := settings.signers(now)
	if err != nil {
		return false, s.trouble(ctx, h, result{reason: Sealed}, now)
	}
	results := s.sendAll(ctx, &settings, signers, page, &a)
	// Recorded also when the process is stopping: what was sent must not be sent again.
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	troubled, err := s.record(record, h, page, results, s.cfg.Now())
	if err != nil || troubled {
		return false, err
	}
	return read > 0, nil
}

// tagged leaves out what is about jobs without the tags that a webhook asks for: it may ask for others than when it was told, or an admin of an
// earlier version wrote what it is told. The tags that the job had then count as well as those that it has.
func (s *Service) tagged(ctx context.Context, h *db.Webhook, page []db.WebhookDelivery, a *about) ([]db.WebhookDelivery, error) {
	wanted := Words(h.Tags)
	if len(wanted) == 0 {
		return page, nil
	}
	var out []int64
	page = slices.DeleteFunc(page, func(d db.WebhookDelivery) bool {
		if d.Type == string(WebhookTest) || d.Type == string(WebhookDropped) {
			return false
		}
		facts, _ := factsOf(&d) // of one that cannot be read its job tells
		has := append(Words(a.jobs[d.JobID].Tags), Words(facts.Tags)...)
		unwanted := !slices.ContainsFunc(has, func(tag string) bool { return slices.Contains(wanted, tag) })
		if unwanted {
			out = append(out, d.ID)
		}
		return unwanted
	})
	if len(out) == 0 {
		return page, nil
	}
	_, err := s.queries.DeleteDeliveries(ctx, s.cfg.Pool, out)
	return page, err
}

// signers sign a request: the secret, and the one before it as long as it is good.
func (s *Settings) signers(now time.Time) ([]*standard.Webhook, error) {
	secrets := []string{s.Secret}
	if s.Old != "" && now.Before(s.OldUntil) {
		secrets = append(secrets, s.Old)
	}
	signers := make([]*standard.Webhook, len(secrets))
	for i, secret := range secrets {
		w, err := standard.NewWebhook(secret)
		if err != nil {
			return nil, err
		}
		signers[i] = w
	}
	return signers, nil
}

// sendAll sends a page, beside each other: no two are about one thing. After the first failure of the receiver nothing more is begun.
// What was not tried has no result.
func (s *Service) sendAll(ctx context.Context, to *Settings, signers []*standard.Webhook, page []db.WebhookDelivery, a *about) map[int64]result {
	began := time.Now() // of this process: the lease must not run out under what is being sent
	var mu sync.Mutex
	results := make(map[int64]result, len(page))
	failed := false
	note := func(d *db.WebhookDelivery, r result) {
		mu.Lock()
		defer mu.Unlock()
		results[d.ID] = r
		failed = failed || r.reason != "" && !r.refuses()
	}
	stopped := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return failed || ctx.Err() != nil || time.Since(began) > s.cfg.Lease/2 || !s.cfg.Ready()
	}
	deliveries := make(chan *db.WebhookDelivery)
	var senders sync.WaitGroup
	for range min(s.cfg.Parallel, len(page)) {
		senders.Go(func() {
			for d := range deliveries {
				if stopped() {
					continue
				}
				if r := s.send(ctx, to, signers, d, a); r.reason == "" || ctx.Err() == nil { // else cut off by us: its id is the same at the next try
					note(d, r)
				}
			}
		})
	}
	for i := range page {
		deliveries <- &page[i]
	}
	close(deliveries)
	senders.Wait()
	return results
}

// send sends one event.
func (s *Service) send(ctx context.Context, to *Settings, signers []*standard.Webhook, d *db.WebhookDelivery, a *about) result {
	body, err := s.body(d, a)
	if err != nil {
		return result{reason: Unsound}
	}
	// What has begun goes on a little longer than the process runs.
	request, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Timeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	req, err := http.NewRequestWithContext(request, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return result{reason: Unreached}
	}
	now := s.cfg.Now()
	var signatures []string
	for _, w := range signers {
		signature, err := w.Sign(EventID(d.ID, d.HappenedAt), now, body)
		if err != nil {
			return result{reason: Sealed}
		}
		signatures = append(signatures, signature)
	}
	req.Header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	req.Header.Set("User-Agent", "Punctual")
	req.Header.Set(standard.HeaderWebhookID, EventID(d.ID, d.HappenedAt))
	req.Header.Set(standard.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standard.HeaderWebhookSignature, strings.Join(signatures, " "))
	// To [http.Transport], and never sent: the event's id makes a second request safe. It makes one where a kept connection is at its end, which a
	// receiver that begins again closes as a request goes out. Without the others that are kept this is the only one: a receiver that closes each
	// would be asked over them all.
	req.Header["Idempotency-Key"] = nil
	again := req.GetBody
	req.GetBody = func() (io.ReadCloser, error) {
		s.web.CloseIdleConnections()
		return again()
	}
	res, err := s.web.Do(req)
	if err != nil {
		return result{reason: whyNot(request, err)}
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // a broken end changes nothing about the status
	r := result{status: res.StatusCode, answer: excerpt(text)}
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
	case code >= 300 && code < 400:
		r.reason = Redirect
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		r.reason = Refused
	case code == http.StatusGone:
		r.reason = Gone410
	default:
		r.reason, r.wait = Answered, webclient.RetryAfter(res, now)
	}
	return r
}

// whyNot says why a request had no answer.
func whyNot(ctx context.Context, err error) Reason {
	var dns *net.DNSError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var timeout net.Error
	var op *net.OpError
	switch {
	case errors.Is(err, webclient.ErrPrivate):
		return Private
	case errors.As(err, &dns):
		return Name
	case errors.As(err, &authority), errors.As(err, &invalid), errors.As(err, &host), errors.As(err, &record), errors.As(err, &verify), errors.Is(err, http.ErrSchemeMismatch):
		return TLS
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return TimedOut
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		return Unreached
	}
	return Broken
}

// excerpt is the beginning of an answer, on one line.
func excerpt(body []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " ")
	for len(text) > maxAnswer {
		text = text[:len(text)-1]
	}
	return strings.ToValidUTF8(text, "")
}

// record writes what became of a page, and reports whether the receiver is in trouble. One that refuses an event again, and has taken none since it
// did so before, is said to fail too: it is well, and what it is sent does not reach anybody.
func (s *Service) record(ctx context.Context, h *db.Webhook, page []db.WebhookDelivery, results map[int64]result, now time.Time) (troubled bool, err error) {
	type end struct {
		state  int64
		result result
	}
	ends := make(map[end][]int64)
	var delays []db.DelayDeliveryParams
	var trouble, refusal *result
	var since int64 // when what is refused again, with nothing taken in between, was tried before
	ok := 0
	for i := range page {
		d := &page[i]
		r, tried := results[d.ID]
		if !tried {
			continue
		}
		if again := d.Refusals > 0 && d.TriedAt > h.LastOkAt; r.refuses() && (again || h.FailingSince > 0) && (refusal == nil || d.TriedAt < since) {
			refusal, since = &r, d.TriedAt
		}
		switch {
		case r.reason == "":
			ok = r.status
			ends[end{Taken, r}] = append(ends[end{Taken, r}], d.ID)
			s.sent.WithLabelValues("taken").Inc()
		case r.refuses() && d.Refusals+1 >= s.cfg.Tries:
			ends[end{GivenUp, r}] = append(ends[end{GivenUp, r}], d.ID)
			s.sent.WithLabelValues("refused").Inc()
		case r.refuses():
			next := now.Add(s.cfg.Pauses << d.Refusals)
			delays = append(delays, db.DelayDeliveryParams{ID: d.ID, Refused: 1, NextAt: next.UnixMilli(), TriedAt: now.UnixMilli(), Status: int64(r.status), Reason: string(r.reason), Answer: r.answer})
			s.sent.WithLabelValues("refused").Inc()
		default:
			if trouble == nil || r.reason == Gone410 {
				trouble = &r
			}
			delays = append(delays, db.DelayDeliveryParams{ID: d.ID, NextAt: d.NextAt, TriedAt: now.UnixMilli(), Status: int64(r.status), Reason: string(r.reason), Answer: r.answer})
			s.sent.WithLabelValues("failed").Inc()
		}
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		for e, ids := range ends {
			for part := range slices.Chunk(ids, db.MaxBatch) {
				if err := s.queries.EndDeliveries(ctx, tx, db.EndDeliveriesParams{
					State: e.state, TriedAt: now.UnixMilli(), Status: int64(e.result.status), Reason: string(e.result.reason), Answer: e.result.answer, Ids: part,
				}); err != nil {
					return err
				}
			}
		}
		for _, d := range delays {
			if err := s.queries.DelayDelivery(ctx, tx, d); err != nil {
				return err
			}
		}
		switch {
		case trouble != nil:
			return nil
		case ok != 0 && (h.FailingSince > 0 || now.UnixMilli()-h.LastOkAt > time.Second.Milliseconds()):
			h.Failures, h.FailingSince, h.LastOkAt = 0, 0, now.UnixMilli()
			return s.queries.NoteWebhookOK(ctx, tx, db.NoteWebhookOKParams{ID: h.ID, AtMs: now.UnixMilli(), Status: int64(ok)})
		case ok == 0 && refusal != nil && (h.FailingSince == 0 || h.Failures > 0 || h.LastReason != string(refusal.reason) || h.LastStatus != int64(refusal.status)):
			return s.queries.NoteWebhookTrouble(ctx, tx, db.NoteWebhookTroubleParams{
				ID: h.ID, FailingSince: cmp.Or(h.FailingSince, since), LastReason: string(refusal.reason), LastStatus: int64(refusal.status), Version: h.UpdatedAt,
			})
		}
		return nil
	})
	if err != nil || trouble == nil {
		return false, err
	}
	return true, s.trouble(ctx, h, *trouble, now)
}

// trouble lets a webhook rest, longer each time, or switches it off when its receiver is gone for good.
func (s *Service) trouble(ctx context.Context, h *db.Webhook, r result, now time.Time) error {
	h.Failures++
	if h.FailingSince == 0 {
		h.FailingSince = now.UnixMilli()
	}
	rest := min(s.cfg.Rest<<min(h.Failures-1, 20), s.cfg.MaxRest)
	err := s.queries.NoteWebhookTrouble(ctx, s.cfg.Pool, db.NoteWebhookTroubleParams{
		ID: h.ID, Failures: h.Failures, FailingSince: h.FailingSince, RestUntil: now.Add(max(rest, r.wait)).UnixMilli(), LastReason: string(r.reason), LastStatus: int64(r.status), Version: h.UpdatedAt,
	})
	if err == nil && r.reason == Gone410 {
		s.log.Warn("a webhook's receiver is gone for good: it is switched off", "webhook", h.Name)
		_, err = s.queries.SetWebhookState(ctx, s.cfg.Pool, db.SetWebhookStateParams{ID: h.ID, Name: h.Name, State: string(Gone), UpdatedAt: h.UpdatedAt + 1, Version: h.UpdatedAt})
	}
	return err
}
