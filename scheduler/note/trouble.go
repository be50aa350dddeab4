package note

import (
	"slices"
	"strings"
)

// Why a message of an alarm channel was not sent. They are stored in English, like those of runs.
var (
	ChannelGone   = Sentence{"trouble.gone", "the channel has been deleted"}
	ChannelOff    = Sentence{"trouble.off", "the channel is switched off"}
	HookSilent    = Sentence{"trouble.hook.silent", "the webhook answered %d"}
	HookRedirects = Sentence{"trouble.hook.redirects", "the webhook answered %d: it redirects, which is not followed"}
	HookAnswered  = Sentence{"trouble.hook.answered", "the webhook answered %d: %s"}
	HookDenied    = Sentence{"trouble.hook.denied", "the webhook refused: %d"}
	HookRefused   = Sentence{"trouble.hook.refused", "the webhook refused: %d %s"}
	HookMute      = Sentence{"trouble.hook.mute", "the webhook's answer is empty"}
	HookOdd       = Sentence{"trouble.hook.odd", "the webhook's answer is not understood: %s"}
	HookCall      = Sentence{"trouble.hook.call", "call the webhook: %s"}
	HookRead      = Sentence{"trouble.hook.read", "read the webhook's answer: %s"}
	HookAddress   = Sentence{"trouble.hook.address", "the address is not a web address"}
	HookScheme    = Sentence{"trouble.hook.scheme", "the address must begin with http:// or https://"}
	HookPrivate   = Sentence{"trouble.hook.private", "the address is private, and webhooks to private addresses are switched off"}
	HookUnknown   = Sentence{"trouble.hook.unknown", "unknown placeholder %s"}
	HookNotJSON   = Sentence{"trouble.hook.notjson", "the filled template is not JSON"}
	MailConnect   = Sentence{"trouble.mail.connect", "connect to the mail server: %s"}
	MailRecipient = Sentence{"trouble.mail.recipient", "the mail server refuses the recipient: %s"}
	MailLost      = Sentence{"trouble.mail.lost", "send mail: the server did not confirm it"}
	MailSend      = Sentence{"trouble.mail.send", "send mail: %s"}
	MailFrom      = Sentence{"trouble.mail.from", "sender: %s"}
	MailTo        = Sentence{"trouble.mail.to", "recipient: %s"}
	SealOdd       = Sentence{"trouble.seal.odd", "settings are not sealed in a way this version knows"}
	SealOther     = Sentence{"trouble.seal.other", "settings were sealed with another key"}
)

// Troubles is everything the alarms say of a message that was not sent, to be tried in this order.
var Troubles = []Sentence{
	ChannelGone, ChannelOff, HookSilent, HookRedirects, HookAnswered, HookDenied, HookRefused, HookMute, HookOdd, HookCall, HookRead,
	HookAddress, HookScheme, HookPrivate, HookUnknown, HookNotJSON, MailConnect, MailRecipient, MailLost, MailSend, MailFrom, MailTo,
	SealOdd, SealOther,
}

// networkTroubles are what Go and the mail library say of servers that cannot be reached or do not do as they should.
var networkTroubles = []Sentence{
	{"said.call.refused", "dial tcp %s: connect: connection refused"},
	{"said.call.unreachable", "dial tcp %s: connect: no route to host"},
	{"said.call.unreachable", "dial tcp %s: connect: network is unreachable"},
	{"said.call.timeout", "dial tcp %s: connect: connection timed out"},
	{"trouble.host", "dial tcp: lookup %s on %s: no such host"},
	{"said.call.host", "dial tcp: lookup %s: no such host"},
	{"trouble.lookup", "dial tcp: lookup %s: %s"},
	{"said.call.timeout", "dial tcp %s: i/o timeout"},
	{"trouble.dial", "dial tcp %s: %s"},
	{"trouble.proxy", "proxyconnect tcp: %s"},
	{"said.call.certificate", "tls: failed to verify certificate: %s"},
	{"trouble.cert.authority", "x509: certificate signed by unknown authority"},
	{"trouble.cert.time", "x509: certificate has expired or is not yet valid: %s"},
	{"trouble.cert.name", "x509: certificate is valid for %s, not %s"},
	{"trouble.plain", "http: server gave HTTP response to HTTPS client"},
	{"trouble.mail.plain", "tls: first record does not look like a TLS handshake"},
	{"said.call.late", "context deadline exceeded"},
	{"said.call.late", "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"},
	{"said.call.late", "context deadline exceeded (Client.Timeout or context cancellation while reading body)"},
	{"said.call.late", "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"},
	{"said.call.late", "net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)"},
	{"said.call.late", "net/http: timeout awaiting response headers"},
	{"said.call.late", "net/http: TLS handshake timeout"},
	{"trouble.late", "context deadline exceeded: %s"},
	{"trouble.stopped", "context canceled"},
	{"trouble.stopped.because", "context canceled: %s"},
	{"trouble.quiet", "read tcp %s: i/o timeout"},
	{"trouble.reset", "read tcp %s: read: connection reset by peer"},
	{"trouble.reset", "write tcp %s: write: connection reset by peer"},
	{"trouble.reset", "write tcp %s: write: broken pipe"},
	{"said.call.broken", "EOF"},
	{"said.call.broken", "unexpected EOF"},
	{"trouble.mail.starttls", `STARTTLS mode set to: "TLSMandatory", but target host does not support STARTTLS`},
	{"trouble.mail.nologin", "server does not support SMTP AUTH"},
	{"trouble.mail.login", "SMTP AUTH failed: %s"},
	{"trouble.mail.refused.from", "sending SMTP MAIL FROM command: %s"},
	{"trouble.mail.refused.to", "sending SMTP RCPT TO command: %s"},
	{"trouble.mail.refused", "sending SMTP DATA command: %s"},
	{"trouble.mail.refused", "closing SMTP DATA writer: %s"},
}

var troubles = func() []saying {
	// Words of the other side, which stay what they are even where they happen to be those of a sentence.
	foreign := []Sentence{HookAnswered, HookRefused, HookOdd, HookUnknown}
	list := compile(slices.Concat(Troubles, networkTroubles))
	for i := range list {
		list[i].verbatim = slices.ContainsFunc(foreign, func(s Sentence) bool { return s.Key == list[i].key })
	}
	return list
}()

// Trouble is why a message of an alarm channel was not sent, in a language: a reason, or one for each of several recipients,
// on lines that begin with their address. What an outside server said of it stays as it is.
func Trouble(p Printer, text string) string {
	if whole := reason(p, text, deepest); whole != text {
		return whole
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		who, why, ok := strings.Cut(line, ": ")
		if ok && strings.Contains(who, "@") && !strings.Contains(who, " ") {
			lines[i] = p.T("alarm.line", "Name", who, "Value", reason(p, why, deepest))
		}
	}
	return strings.Join(lines, "\n")
}

func reason(p Printer, text string, depth int) string { return say(p, troubles, text, depth, reason) }
