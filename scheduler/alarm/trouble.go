package alarm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// Why a message of a channel was not sent. Behind its own arguments a trouble may name the recipient that it is about.
const (
	channelGone   event.Key = "gone"
	channelOff    event.Key = "off"
	hookSilent    event.Key = "hook.silent"
	hookRedirects event.Key = "hook.redirects"
	hookAnswered  event.Key = "hook.answered"
	hookDenied    event.Key = "hook.denied"
	hookRefused   event.Key = "hook.refused"
	hookMute      event.Key = "hook.mute"
	hookOdd       event.Key = "hook.odd"
	hookCall      event.Key = "hook.call"
	hookRead      event.Key = "hook.read"
	hookPlain     event.Key = "hook.plain"
	hookAddress   event.Key = "hook.address"
	hookScheme    event.Key = "hook.scheme"
	hookPrivate   event.Key = "hook.private"
	hookUnknown   event.Key = "hook.unknown"
	hookNotJSON   event.Key = "hook.notjson"
	mailConnect   event.Key = "mail.connect"
	mailPlain     event.Key = "mail.plain"
	mailStartTLS  event.Key = "mail.starttls"
	mailNoLogin   event.Key = "mail.nologin"
	mailLogin     event.Key = "mail.login"
	mailGreeting  event.Key = "mail.greeting"
	mailSender    event.Key = "mail.sender"
	mailRecipient event.Key = "mail.recipient"
	mailRefused   event.Key = "mail.refused"
	mailSend      event.Key = "mail.send"
	mailFrom      event.Key = "mail.from"
	mailTo        event.Key = "mail.to"
	mailDomain    event.Key = "mail.domain"
	sealOdd       event.Key = "seal.odd"
	sealOther     event.Key = "seal.other"
	otherTrouble  event.Key = "other"
)

// Troubles are what may be said of a message that was not sent; its messages are "trouble.<key>".
var Troubles = func() event.Book {
	said := event.Arg{Name: "Text"}
	code := event.Arg{Name: "Code", Kind: event.Number}
	fault := event.Arg{Name: "Fault", Kind: event.Word, Of: "fault."}
	return event.BookOf([]event.Spec{
		{Key: channelGone, English: "the channel has been deleted"},
		{Key: channelOff, English: "the channel is switched off"},
		{Key: hookSilent, Args: []event.Arg{code}, English: "the webhook answered {Code}"},
		{Key: hookRedirects, Args: []event.Arg{code}, English: "the webhook answered {Code}: it redirects, which is not followed"},
		{Key: hookAnswered, Args: []event.Arg{code, said}, English: "the webhook answered {Code}: {Text}"},
		{Key: hookDenied, Args: []event.Arg{code}, English: "the webhook refused: {Code}"},
		{Key: hookRefused, Args: []event.Arg{code, said}, English: "the webhook refused: {Code} {Text}"},
		{Key: hookMute, English: "the webhook's answer is empty"},
		{Key: hookOdd, Args: []event.Arg{said}, English: "the webhook's answer is not understood: {Text}"},
		{Key: hookCall, Args: []event.Arg{fault, said}, English: "call the webhook: {Fault}: {Text}"},
		{Key: hookRead, Args: []event.Arg{fault, said}, English: "read the webhook's answer: {Fault}: {Text}"},
		{Key: hookPlain, Args: []event.Arg{said}, English: "the webhook speaks HTTP, not HTTPS: {Text}"},
		{Key: hookAddress, English: "the address is not a web address"},
		{Key: hookScheme, English: "the address must begin with http:// or https://"},
		{Key: hookPrivate, English: "the address is private, and webhooks to private addresses are switched off"},
		{Key: hookUnknown, Args: []event.Arg{said}, English: "unknown placeholder {Text}"},
		{Key: hookNotJSON, English: "the filled template is not JSON"},
		{Key: mailConnect, Args: []event.Arg{fault, said}, English: "connect to the mail server: {Fault}: {Text}"},
		{Key: mailPlain, Args: []event.Arg{said}, English: "the mail server does not begin with TLS: {Text}"},
		{Key: mailStartTLS, English: "the mail server does not offer STARTTLS"},
		{Key: mailNoLogin, English: "the mail server takes no user name and password"},
		{Key: mailLogin, Args: []event.Arg{code, said}, English: "the mail server refuses the login: {Code} {Text}"},
		{Key: mailGreeting, Args: []event.Arg{code, said}, English: "the mail server will not talk: {Code} {Text}"},
		{Key: mailSender, Args: []event.Arg{code, said}, English: "the mail server refuses the sender: {Code} {Text}"},
		{Key: mailRecipient, Args: []event.Arg{code, said}, English: "the mail server refuses the recipient: {Code} {Text}"},
		{Key: mailRefused, Args: []event.Arg{code, said}, English: "the mail server refuses the mail: {Code} {Text}"},
		{Key: mailSend, Args: []event.Arg{fault, said}, English: "send mail: {Fault}: {Text}"},
		{Key: mailFrom, Args: []event.Arg{said}, English: "sender: {Text}"},
		{Key: mailTo, Args: []event.Arg{said}, English: "recipient: {Text}"},
		{Key: mailDomain, Args: []event.Arg{said}, English: "mails to this domain are not allowed: {Text}"},
		{Key: sealOdd, English: "settings are not sealed in a way this version knows"},
		{Key: sealOther, English: "settings were sealed with another key"},
		{Key: otherTrouble, Args: []event.Arg{said}, English: "{Text}"},
	})
}()

// What is known of a call's failure beside what [wire.FaultOf] tells.
const (
	faultAuthority wire.Fault = "authority" // nobody known here vouches for the certificate
	faultExpired   wire.Fault = "expired"   // the certificate is not valid now
	faultName      wire.Fault = "name"      // the certificate is another machine's
)

// Faults are the words of faults that troubles have and runs have not.
var Faults = []wire.Fault{faultAuthority, faultExpired, faultName}

// reason makes a trouble. The column beside it says when.
func reason(key event.Key, args ...any) event.Event {
	return event.New(time.UnixMilli(0), key, args...)
}

// troubleError is a trouble as an error.
type troubleError struct {
	reason event.Event
	err    error // what it came of; may be nil
}

func (t *troubleError) Error() string { return Troubles.English(t.reason, time.UTC) }
func (t *troubleError) Unwrap() error { return t.err }

func troubled(key event.Key, args ...any) error { return &troubleError{reason: reason(key, args...)} }

// broken is the error of a connection: its kind, and its own words.
func broken(ctx context.Context, key event.Key, err error) error {
	return &troubleError{reason: reason(key, string(faultOf(ctx, err)), err), err: err}
}

// answered is a mail server's answer, or if the error is none, that of its connection.
func answered(ctx context.Context, answer, otherwise event.Key, err error) error {
	if no, ok := errors.AsType[*textproto.Error](err); ok {
		return &troubleError{reason: reason(answer, no.Code, no.Msg), err: err}
	}
	return broken(ctx, otherwise, err)
}

// faultOf says what kind of failure it is. Where the time for the message is up, that is the kind: the error itself says only
// what broke off.
func faultOf(ctx context.Context, err error) wire.Fault {
	if ended := ctx.Err(); ended != nil {
		return wire.FaultOf(ended)
	}
	if bad, ok := errors.AsType[x509.CertificateInvalidError](err); ok && bad.Reason == x509.Expired {
		return faultExpired
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return faultAuthority
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return faultName
	}
	fault := wire.FaultOf(err)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && fault == wire.FaultLate {
		return wire.FaultConnect
	}
	return fault
}

// speaksPlain says whether the other side does not speak TLS.
func speaksPlain(err error) bool {
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok || errors.Is(err, http.ErrSchemeMismatch)
}

// reasonOf is an error as a trouble.
func reasonOf(err error) event.Event {
	if t, ok := errors.AsType[*troubleError](err); ok {
		return t.reason
	}
	return reason(otherTrouble, err)
}

// maxTrouble is how many bytes the columns take.
const maxTrouble = 490

// Trouble is why messages were not sent, as a column holds it.
type Trouble string

// troubleOf is reasons without secrets, as much of them as fits.
func troubleOf(secrets []string, reasons ...event.Event) Trouble {
	list := make(event.List, len(reasons))
	for i, r := range reasons {
		list[i] = event.Event{Key: r.Key, Args: slices.Clone(r.Args)}
		for j := range list[i].Args {
			list[i].Args[j] = scrub(list[i].Args[j], secrets)
		}
	}
	for most := maxTrouble; ; most /= 2 {
		for _, r := range list {
			for j := range r.Args {
				r.Args[j] = clip(r.Args[j], max(most, 40))
			}
		}
		if text := list.Encode(); len(text) <= maxTrouble {
			return Trouble(text)
		}
		if most < 40 {
			list = list[:len(list)-1]
		}
	}
}

// about adds the recipient that a trouble is about.
func about(recipient string, e event.Event) event.Event {
	args := make([]string, len(Troubles[e.Key].Args)+1)
	copy(args, e.Args)
	args[len(args)-1] = recipient
	return event.Event{Key: e.Key, Args: args}
}

// English is the trouble for logs.
func (t Trouble) English() string {
	return t.lines(func(e event.Event) string { return Troubles.English(e, time.UTC) }, func(who, why string) string { return who + ": " + why })
}

// In is the trouble in a reader's language.
func (t Trouble) In(p event.Printer) string {
	teller := event.Teller{Printer: p, Book: Troubles, Family: "trouble."}
	return t.lines(teller.Tell, func(who, why string) string { return p.T("list.line", "Name", who, "Value", why) })
}

// lines puts each trouble of the column on a line. What is no list of troubles, as older versions wrote, stays as it is.
func (t Trouble) lines(tell func(event.Event) string, about func(who, why string) string) string {
	list := event.Parse(string(t))
	if len(list) == 0 {
		return string(t)
	}
	lines := make([]string, len(list))
	for i, e := range list {
		lines[i] = tell(e)
		if spec, known := Troubles[e.Key]; known && e.Text(len(spec.Args)) != "" {
			lines[i] = about(e.Text(len(spec.Args)), lines[i])
		}
	}
	return strings.Join(lines, "\n")
}

// Failure is what a test message met with.
type Failure struct{ Trouble Trouble }

func (f *Failure) Error() string { return f.Trouble.English() }
