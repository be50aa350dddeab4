package alarm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/locales"
)

func TestMailServersAreReachedInEveryWay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		server     mailServerOptions
		security   Security
		username   string
		password   string
		skipVerify bool
		distrust   bool   // no authority but the system's
		want       string // of the error; "" for none
		chinese    string // the whole of it
		secure     bool
	}{
		{name: "STARTTLS with login", server: mailServerOptions{password: "s3cret-pass", starttls: true}, security: SecurityStartTLS, username: "alarms", password: "s3cret-pass", secure: true},
		{name: "STARTTLS without login", server: mailServerOptions{starttls: true}, security: SecurityStartTLS, secure: true},
		{name: "TLS with login", server: mailServerOptions{password: "s3cret-pass", tls: true}, security: SecurityTLS, username: "alarms", password: "s3cret-pass", secure: true},
		{name: "plain with login", server: mailServerOptions{password: "s3cret-pass"}, security: SecurityNone, username: "alarms", password: "s3cret-pass"},
		{name: "plain without login", security: SecurityNone},
		{name: "a wrong password", server: mailServerOptions{password: "s3cret-pass", starttls: true}, security: SecurityStartTLS, username: "alarms", password: "wrong-pass", want: "535", chinese: `邮件服务器拒绝了用户名或密码：535 5.7.8 wrong: ***`},
		{name: "a login that is missing", server: mailServerOptions{password: "s3cret-pass", starttls: true}, security: SecurityStartTLS, want: "Please authenticate first", chinese: `邮件服务器拒绝了发件人：502 5.7.0 Please authenticate first`},
		{name: "STARTTLS where the server has none", security: SecurityStartTLS, want: "does not offer STARTTLS", chinese: "邮件服务器不支持 STARTTLS，请更换加密方式"},
		{name: "a certificate nobody vouches for", server: mailServerOptions{starttls: true}, security: SecurityStartTLS, distrust: true, want: "certificate signed by unknown authority", chinese: "无法连接邮件服务器，证书由未知的机构签发：tls: failed to verify certificate: x509: certificate signed by unknown authority"},
		{name: "the same, accepted", server: mailServerOptions{starttls: true}, security: SecurityStartTLS, distrust: true, skipVerify: true, secure: true},
		{name: "TLS where the server speaks plain", security: SecurityTLS, want: "TLS handshake", chinese: "该端口不是 TLS 端口，请改用 STARTTLS 或更换端口：tls: first record does not look like a TLS handshake"},
		{name: "a login where the server takes none", server: mailServerOptions{starttls: true}, security: SecurityStartTLS, username: "alarms", password: "s3cret-pass", want: "takes no user name", chinese: "邮件服务器不支持用户名密码登录"},
		{name: "a password over a plain connection, where TLS is wanted", server: mailServerOptions{password: "s3cret-pass"}, security: SecurityStartTLS, username: "alarms", password: "s3cret-pass", want: "does not offer STARTTLS", chinese: "邮件服务器不支持 STARTTLS，请更换加密方式"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) {
				if test.distrust {
					c.RootCAs = nil
				}
			})
			s := newMailServer(t, test.server)
			c := b.mailChannel(s, "a@example.com")
			c.Settings.Security, c.Settings.Username, c.Settings.Password = test.security, test.username, test.password
			c.Settings.SkipVerify = test.skipVerify
			id := b.addChannel(c)
			err := b.a.Test(t.Context(), id)
			mails := s.received()
			// Reaching it goes as far as the login. Nobody tries a channel that is off, or one of another kind.
			off := c
			off.Name, off.Enabled = "off", false
			for _, other := range []Channel{off, goodHook()} {
				if _, err := b.a.CreateChannel(t.Context(), other); err != nil {
					t.Fatal(err)
				}
			}
			tried, failed, reachErr := b.a.ReachMail(t.Context())
			wrong := test.want != "" && test.name != "a login that is missing"
			if reachErr != nil || tried != 1 || (len(failed) == 1) != wrong || wrong && !strings.Contains(failed[0], test.want) || len(s.received()) != len(mails) {
				t.Errorf("reached: %d tried, %q, %v", tried, failed, reachErr)
			}
			if test.want == "" {
				if err != nil || len(mails) != 1 || mails[0].subject != "[Punctual] Test message" {
					t.Fatalf("test message: %d mails, %v", len(mails), err)
				}
				if s.tls[0] != test.secure {
					t.Errorf("sent with TLS: %v, want %v", s.tls[0], test.secure)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || len(mails) != 0 {
				t.Fatalf("error %v, want one with %q; %d mails", err, test.want, len(mails))
			}
			shown, _ := b.a.Channel(t.Context(), id)
			said := shown.LastError.In(texts.Printer(locales.Chinese))
			if want := "a@example.com：" + test.chinese; said != want {
				t.Errorf("in Chinese: %q, want %q", said, want)
			}
			for _, text := range []string{err.Error(), string(shown.LastError), b.log.String()} {
				for _, secret := range []string{"wrong-pass", "s3cret-pass", base64.StdEncoding.EncodeToString([]byte("\x00alarms\x00wrong-pass"))} {
					if strings.Contains(text, secret) {
						t.Errorf("a secret shows: %s", text)
					}
				}
			}
			if shown.LastError == "" {
				t.Error("the channel does not show its error")
			}
		})
	}
}

func TestAMailServerThatHangsIsLeftInTime(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reached, gone := make(chan struct{}), make(chan struct{})
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		close(reached)
		_, _ = conn.Read(make([]byte, 1)) // says nothing, until the client leaves
		close(gone)
	}()
	b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) { c.SendTimeout = 100 * time.Millisecond })
	id := b.addChannel(Channel{Name: "hangs", Kind: KindMail, Settings: Settings{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, Security: SecurityNone, From: "a@example.com", Recipients: []string{"b@example.com"},
	}})
	for tried := false; !tried; b.a.cfg.SendTimeout *= 2 { // on a busy machine the time may be over before the server is reached
		if err := b.a.Test(t.Context(), id); err == nil {
			t.Fatal("no error")
		}
		select {
		case <-reached:
			tried = true
		default:
		}
	}
	<-gone
}

func TestStoppingEndsAMessageThatHangs(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) { c.Grace = time.Millisecond })
	s := newMailServer(t, mailServerOptions{})
	arrived, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	s.onRcpt(func(string) error { close(arrived); <-release; return nil })
	b.addChannel(b.mailChannel(s, "a@example.com"))
	b.raise(b.job, "failed", "boom")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.a.Run(ctx) }()
	<-arrived
	cancel()
	<-done
	if d := b.deliveries()[0]; d.State != Waiting || d.Tries != 1 || !strings.HasPrefix(d.Error.English(), "send mail: stopped") {
		t.Errorf("delivery: %+v", d)
	}
}

func TestTheSameMessageHasTheSameIDOnEveryTry(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	s := newMailServer(t, mailServerOptions{})
	b.addChannel(b.mailChannel(s, "a@example.com"))
	b.raise(b.job, "failed", "boom")
	b.work()
	if err := b.a.Retry(t.Context(), b.deliveries()[0].ID); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a sent message was sent again: %v", err)
	}
	b.exec("UPDATE punctual_alarm_delivery SET state = 3")
	if err := b.a.Retry(t.Context(), b.deliveries()[0].ID); err != nil {
		t.Fatal(err)
	}
	b.work()
	got := s.received()
	if len(got) != 2 || got[0].header.Get("Message-ID") == "" || got[0].header.Get("Message-ID") != got[1].header.Get("Message-ID") {
		t.Fatalf("%d mails, ids %q", len(got), got[0].header.Get("Message-ID"))
	}
}

func TestNamesCannotBreakOutOfAHeader(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	s := newMailServer(t, mailServerOptions{})
	b.addChannel(b.mailChannel(s, "a@example.com"))
	b.raise(b.addJob("evil\r\nBcc: x@example.com\r\n\r\nbody", ""), "failed", "x")
	b.work()
	got := s.received()
	if len(got) != 1 || got[0].header.Get("Bcc") != "" || got[0].subject != "[Punctual] Failed: evil Bcc: x@example.com body" {
		t.Fatalf("mails: %+v", got)
	}
}

func TestSplitAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		list string
		want []string
	}{
		{"", nil},
		{"a@x.com", []string{"a@x.com"}},
		{" a@x.com ,b@x.com,, ", []string{"a@x.com", "b@x.com"}},
		{"a@x.com；b@x.com，c@x.com;d@x.com", []string{"a@x.com", "b@x.com", "c@x.com", "d@x.com"}},
		{"Ann <a@x.com>, nonsense, @x.com", []string{"a@x.com"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, Addresses(test.list)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.list, diff)
		}
	}
}

func TestScrub(t *testing.T) {
	t.Parallel()
	s := Settings{URL: "https://user:hunter22@hook.example.com/robot/send?access_token=abcdef123456", Secret: "SEC0000", Password: "pass word", Username: "me"}
	text := fmt.Sprintf("%s | abcdef123456 | /robot/send?access_token=abcdef123456 | SEC0000 | pass word | pass+word | hunter22 | %s", s.URL,
		base64.StdEncoding.EncodeToString([]byte("\x00me\x00pass word")))
	got := scrub(text, s.secrets())
	if want := "*** | *** | *** | *** | *** | *** | *** | ***"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
