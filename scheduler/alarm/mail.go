package alarm

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	stdmail "net/mail"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/punctual-job/punctual/scheduler/webclient"
)

// maxMailText bounds the text part of a mail.
const maxMailText = 50_000

// sendMail sends a message to one recipient. One mail each, so that an address the server refuses keeps nobody else from
// hearing, and nobody learns who else was told.
func (a *Alarmer) sendMail(ctx context.Context, s *Settings, m *message) error {
	if !a.cfg.Defaults().MailsTo(m.recipient) {
		return refusal{troubled(mailDomain, m.recipient), true}
	}
	msg, err := mailOf(s, m, a.cfg.Now())
	if err != nil {
		return refusal{err, true}
	}
	return a.withMailServer(ctx, s, m.outside, func(client *smtp.Client) error { return transmit(ctx, client, msg) })
}

// withMailServer does something with a mail server that has taken the login.
func (a *Alarmer) withMailServer(ctx context.Context, s *Settings, outside bool, do func(*smtp.Client) error) error {
	conn, err := a.dialMail(ctx, s, outside)
	if err != nil {
		return mailTrouble(ctx, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	client, err := smtp.NewClient(conn, s.Host)
	if err != nil {
		return answered(ctx, mailGreeting, mailConnect, err)
	}
	if err := a.introduce(ctx, client, s); err != nil {
		return err
	}
	if err := login(ctx, client, s); err != nil {
		return err
	}
	if err := do(client); err != nil {
		return err
	}
	_ = client.Quit() // the server has it; what goes wrong afterwards is no reason to send it again
	return nil
}

func (a *Alarmer) dialMail(ctx context.Context, s *Settings, outside bool) (net.Conn, error) {
	dialer := new(net.Dialer)
	if outside {
		dialer.Control = func(network, address string, c syscall.RawConn) error {
			if webclient.RefusePrivate(network, address, c) != nil {
				return errPrivate
			}
			return nil
		}
	}
	address := net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	if s.Security == SecurityTLS {
		return (&tls.Dialer{NetDialer: dialer, Config: a.tlsFor(s)}).DialContext(ctx, "tcp", address)
	}
	return dialer.DialContext(ctx, "tcp", address)
}

// mailTrouble is why there is no connection to a mail server.
func mailTrouble(ctx context.Context, err error) error {
	if speaksPlain(err) {
		return &troubleError{reason: reason(mailPlain, err), err: err}
	}
	return broken(ctx, mailConnect, err)
}

// introduce greets the server, and makes the connection safe where that is wanted and is not done yet.
func (a *Alarmer) introduce(ctx context.Context, client *smtp.Client, s *Settings) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if err := client.Hello(host); err != nil {
		return answered(ctx, mailGreeting, mailConnect, err)
	}
	if s.Security != SecurityStartTLS {
		return nil
	}
	if offered, _ := client.Extension("STARTTLS"); !offered {
		return troubled(mailStartTLS)
	}
	if err := client.StartTLS(a.tlsFor(s)); err != nil {
		return answered(ctx, mailGreeting, mailConnect, err)
	}
	return nil
}

// login names the user, in the best way that the server offers.
func login(ctx context.Context, client *smtp.Client, s *Settings) error {
	if s.Username == "" {
		return nil
	}
	// A password goes over a plain connection only where no security was chosen, and then a challenge is better than it.
	plain := s.Security == SecurityNone
	ways := []loginWay{
		{"SCRAM-SHA-256", smtp.ScramSHA256Auth(s.Username, s.Password)},
		{"SCRAM-SHA-1", smtp.ScramSHA1Auth(s.Username, s.Password)},
		{"PLAIN", smtp.PlainAuth("", s.Username, s.Password, s.Host, plain)},
		{"LOGIN", smtp.LoginAuth(s.Username, s.Password, s.Host, plain)},
		{"CRAM-MD5", smtp.CRAMMD5Auth(s.Username, s.Password)},
	}
	if plain {
		ways = []loginWay{ways[0], ways[1], ways[4], ways[2], ways[3]}
	}
	_, offered := client.Extension("AUTH")
	for _, way := range ways {
		if !slices.Contains(strings.Fields(offered), way.name) {
			continue
		}
		if err := client.Auth(way.auth); err != nil {
			return answered(ctx, mailLogin, mailConnect, err)
		}
		return nil
	}
	return troubled(mailNoLogin)
}

// loginWay is a way to log in, by the name that servers have for it.
type loginWay struct {
	name string
	auth smtp.Auth
}

// transmit hands a mail over.
func transmit(ctx context.Context, client *smtp.Client, msg *mail.Msg) error {
	from, err := msg.GetSender(false)
	if err != nil {
		return err
	}
	to, err := msg.GetRecipients()
	if err != nil {
		return err
	}
	if err := client.Mail(from); err != nil {
		return answered(ctx, mailSender, mailSend, err)
	}
	if err := client.Rcpt(to[0]); err != nil {
		why := answered(ctx, mailRecipient, mailSend, err)
		if no, ok := errors.AsType[*textproto.Error](err); ok {
			return refusal{why, noSuchMailbox(no)}
		}
		return why
	}
	w, err := client.Data()
	if err != nil {
		return answered(ctx, mailRefused, mailSend, err)
	}
	if _, err := msg.WriteTo(w); err != nil {
		return broken(ctx, mailSend, err)
	}
	if err := w.Close(); err != nil {
		return answered(ctx, mailRefused, mailSend, err)
	}
	return nil
}

// enhanced is the code of three numbers that an answer may begin with (RFC 3463).
var enhanced = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// noSuchMailbox reports whether a server will never take mail for the recipient. Refusals for reasons of policy (5.7) are
// mostly a login or a relay rule that somebody will mend.
func noSuchMailbox(e *textproto.Error) bool {
	if e.Code < 550 || e.Code > 553 {
		return false
	}
	code := enhanced.FindString(e.Msg)
	return code == "" || strings.HasPrefix(code, "5.1.") || strings.HasPrefix(code, "5.2.")
}

func (a *Alarmer) tlsFor(s *Settings) *tls.Config {
	return &tls.Config{ServerName: s.Host, RootCAs: a.cfg.RootCAs, MinVersion: tls.VersionTLS12, InsecureSkipVerify: s.SkipVerify}
}

// mailOf builds the mail.
func mailOf(s *Settings, m *message, now time.Time) (*mail.Msg, error) {
	msg := mail.NewMsg()
	from, err := stdmail.ParseAddress(s.From)
	if err != nil {
		return nil, troubled(mailFrom, err)
	}
	if from.Name == "" {
		from.Name = m.words.T("app.name")
	}
	msg.FromMailAddress(from)
	if err := msg.AddTo(m.recipient); err != nil {
		return nil, troubled(mailTo, err)
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

// Addresses gives the addresses of a list as people type it (upstream does not trim them, docs/compat.md §8.3 #37). What
// is no address is left out: the job's form refuses it, but an adopted job may have it.
func Addresses(list string) []string {
	var all []string
	for _, part := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(",;，；\n\r\t", r) }) {
		if address, err := stdmail.ParseAddress(strings.TrimSpace(part)); err == nil {
			all = append(all, address.Address)
		}
	}
	return all
}
