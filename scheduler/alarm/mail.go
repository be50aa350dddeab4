package alarm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	stdmail "net/mail"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/punctual-job/punctual/scheduler/note"
)

// maxMailText bounds the text part of a mail.
const maxMailText = 50_000

// sendMail sends a message to one recipient. One mail each, so that an address the server refuses keeps nobody else from
// hearing, and nobody learns who else was told.
func (a *Alarmer) sendMail(ctx context.Context, s *Settings, m *message) error {
	msg, err := mailOf(s, m, a.cfg.Now())
	if err != nil {
		return refusal{err, true}
	}
	// The library's own dialling leaves the connection open when the server refuses what follows, and looks at the context
	// only until it is made. So the connection is kept here.
	var conn net.Conn
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		var err error
		if s.Security == SecurityTLS {
			conn, err = (&tls.Dialer{Config: a.tlsFor(s)}).DialContext(ctx, network, address)
		} else {
			conn, err = new(net.Dialer).DialContext(ctx, network, address)
		}
		return conn, err
	}
	client, err := mail.NewClient(s.Host, mailOptions(s, a.tlsFor(s), a.cfg.SendTimeout, dial)...)
	if err != nil {
		return err
	}
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	smtp, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return note.MailConnect.Err(timeoutOf(ctx, err))
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	err = client.SendWithSMTPClient(smtp, msg)
	if msg.IsDelivered() { // the server has it; what went wrong afterwards is no reason to send it again
		_ = smtp.Quit()
		return nil
	}
	if sendErr, ok := errors.AsType[*mail.SendError](err); ok && sendErr.Reason == mail.ErrSMTPRcptTo && sendErr.ErrorCode() >= 400 {
		said := strings.TrimPrefix(brief(err), sendErr.Reason.String()+": ")
		return refusal{note.MailRecipient.Err(said), noSuchMailbox(sendErr)}
	}
	if err != nil {
		return note.MailSend.Err(timeoutOf(ctx, errors.New(brief(err))))
	}
	return note.MailLost.Err()
}

// brief is an error of the library without the recipient and the number of the mail, which it adds to each.
func brief(err error) string {
	text, _, _ := strings.Cut(err.Error(), ", affected recipient(s): ")
	text, _, _ = strings.Cut(text, ", affected message ID: ")
	return text
}

// noSuchMailbox reports whether a server will never take mail for the recipient. Refusals for reasons of policy (5.7) are
// mostly a login or a relay rule that somebody will mend.
func noSuchMailbox(e *mail.SendError) bool {
	status := e.EnhancedStatusCode()
	if e.ErrorCode() < 550 || e.ErrorCode() > 553 {
		return false
	}
	return status == "" || strings.HasPrefix(status, "5.1.") || strings.HasPrefix(status, "5.2.")
}

// timeoutOf says that it took too long, where the error only says what broke off.
func timeoutOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

func (a *Alarmer) tlsFor(s *Settings) *tls.Config {
	return &tls.Config{ServerName: s.Host, RootCAs: a.cfg.RootCAs, MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.SkipVerify}
}

func mailOptions(s *Settings, tlsConfig *tls.Config, timeout time.Duration, dial mail.DialContextFunc) []mail.Option {
	options := []mail.Option{
		mail.WithPort(s.Port), mail.WithTimeout(timeout), mail.WithTLSConfig(tlsConfig), mail.WithDialContextFunc(dial), mail.WithoutNoop(),
	}
	// Named here, because the library's own choice takes a connection that it did not dial for an open one.
	auth := []mail.SMTPAuthType{mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlain, mail.SMTPAuthLogin, mail.SMTPAuthCramMD5}
	switch s.Security {
	case SecurityStartTLS:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	case SecurityTLS:
		// The connection is made with TLS by dial; the option tells the library not to expect STARTTLS.
		options = append(options, mail.WithSSL())
	case SecurityNone:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
		// Over a plain connection the library sends a password only when told to; choosing no security is that.
		auth = []mail.SMTPAuthType{mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthCramMD5, mail.SMTPAuthPlainNoEnc, mail.SMTPAuthLoginNoEnc}
	}
	if s.Username != "" {
		options = append(options, mail.WithOpportunisticSMTPAuth(auth...), mail.WithUsername(s.Username), mail.WithPassword(s.Password))
	}
	return options
}

// mailOf builds the mail.
func mailOf(s *Settings, m *message, now time.Time) (*mail.Msg, error) {
	msg := mail.NewMsg()
	from, err := stdmail.ParseAddress(s.From)
	if err != nil {
		return nil, note.MailFrom.Err(err)
	}
	if from.Name == "" {
		from.Name = m.words.T("app.name")
	}
	msg.FromMailAddress(from)
	if err := msg.AddTo(m.recipient); err != nil {
		return nil, note.MailTo.Err(err)
	}
	html, err := m.html()
	if err != nil {
		return nil, err
	}
	title := m.title()
	msg.Subject(title)
	msg.SetDateWithValue(now)
	_, domain, _ := strings.Cut(from.Address, "@")
	msg.SetMessageIDWithValue("punctual-" + m.id + "@" + domain)
	// Out-of-office replies to an alarm help nobody.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(mail.TypeTextPlain, title+"\n\n"+m.plain(maxMailText)+"\n\n-- \n"+m.words.T("mail.footer", "App", m.words.T("app.name"))+"\n")
	msg.AddAlternativeString(mail.TypeTextHTML, html)
	return msg, nil
}

// splitAddresses gives the addresses of a list as people type it (upstream does not trim them, spec §8.3 #37). What is no
// address is left out: the job's form refuses it, but an adopted job may have it.
func splitAddresses(list string) []string {
	var all []string
	for _, part := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",;，；\n\r\t", r) }) {
		if address, err := stdmail.ParseAddress(strings.TrimSpace(part)); err == nil {
			all = append(all, address.Address)
		}
	}
	return all
}
