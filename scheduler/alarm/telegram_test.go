package alarm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
)

const botToken = "123456:t0ken-ABCDEFGHIJKLMNOP"

// botAPI answers as Telegram's Bot API does: the token and the method stand in the path, and every answer has the same shape.
func botAPI(w http.ResponseWriter, r *http.Request, body []byte) {
	refuse := func(code int, description, more string) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"ok":false,"error_code":%d,"description":%q%s}`, code, description, more)
	}
	var message struct {
		Chat string `json:"chat_id"`
		Text string `json:"text"`
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path != "/bot"+botToken+"/sendMessage":
		refuse(401, "Unauthorized", "")
	case r.Method != http.MethodPost || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") || json.Unmarshal(body, &message) != nil:
		refuse(400, "Bad Request: can't parse the request", "")
	case message.Text == "":
		refuse(400, "Bad Request: message text is empty", "")
	case len(utf16.Encode([]rune(message.Text))) > 4096:
		refuse(400, "Bad Request: message is too long", "")
	case message.Chat == "-100":
		refuse(400, "Bad Request: group chat was upgraded to a supergroup chat", `,"parameters":{"migrate_to_chat_id":-1001234567890}`)
	case message.Chat == "-429":
		refuse(429, "Too Many Requests: retry after 90", `,"parameters":{"retry_after":90}`)
	case message.Chat == "-502":
		w.WriteHeader(502)
		_, _ = w.Write([]byte("<html>Bad Gateway"))
	case message.Chat != "-1001" && message.Chat != "@ops":
		refuse(400, "Bad Request: chat not found", "")
	default:
		_, _ = w.Write([]byte(`{"ok":true,"result":{"message_id":7,"text":"…"}}`))
	}
}

// newBotAPI is such a server at a local address.
func newBotAPI(t *testing.T) *receiver {
	var r *receiver
	r = newReceiver(t, false, func(w http.ResponseWriter, req *http.Request) {
		calls := r.received()
		botAPI(w, req, calls[len(calls)-1].body)
	})
	return r
}

func telegramChannel(url, chat string) Channel {
	return Channel{Name: "bot", Kind: KindTelegram, Settings: Settings{URL: url + "/", Secret: botToken, Chat: chat}}
}

func TestTelegramTakesMessages(t *testing.T) {
	t.Parallel()
	for _, chat := range []string{"-1001", "@ops"} {
		b := setup(t, dbtest.New(t, db.SQLite), nil)
		r := newBotAPI(t)
		id := b.addChannel(telegramChannel(r.URL, chat))
		run := b.raise(b.job, scheduler.AlarmFailed, "mail jo@example.com, @everybody (@all) <b>*x*</b>\n"+strings.Repeat("很长 🙂 ", 2000))
		b.work()
		if d := b.deliveries(); len(d) != 1 || d[0].State != Sent {
			t.Fatalf("deliveries %+v", d)
		}
		body := r.received()[0].body
		text := deep(t, body, "text")
		has(t, text, "[Punctual] Failed: nightly <b>report</b>\n", "mail jo@example.com, @\u2060everybody (@\u2060all) <b>*x*</b>", fmt.Sprintf("https://punctual.test/runs/%d", run))
		if deep(t, body, "chat_id") != chat || deep(t, body, "parse_mode") != nil || deep(t, body, "link_preview_options", "is_disabled") != true {
			t.Errorf("body: %s", body)
		}
		if err := b.a.Test(t.Context(), id); err != nil {
			t.Errorf("test message: %v", err)
		}
	}
}

func TestTelegramSaysWhyItRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, chat, token, want string
		wait                    time.Duration // what it asks for; 0: the usual
	}{
		{"a chat that is none", "-5", botToken, "the webhook refused: 400 Bad Request: chat not found", 0},
		{"another token", "-1001", "99:t0ken-of-somebody-else", "the webhook refused: 401 Unauthorized", 0},
		{"a group that moved", "-100", botToken, "upgraded to a supergroup chat (-1001234567890)", 0},
		{"too much", "-429", botToken, "the webhook refused: 429 Too Many Requests", 90 * time.Second},
		{"something before it", "-502", botToken, "the webhook answered 502: <html>Bad Gateway", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dbtest.New(t, db.SQLite), nil)
			r := newBotAPI(t)
			c := telegramChannel(r.URL, tt.chat)
			c.Settings.Secret = tt.token
			id := b.addChannel(c)
			b.raise(b.job, scheduler.AlarmFailed, "boom")
			b.work()
			d := b.deliveries()[0]
			if d.State != Waiting || !strings.Contains(d.Error.English(), tt.want) {
				t.Errorf("delivery %+v, want an error with %q", d, tt.want)
			}
			if tt.wait > 0 && !d.NextAt.Equal(noon.Add(tt.wait)) {
				t.Errorf("tried again at %s, want after %s", d.NextAt, tt.wait)
			}
			err := b.a.Test(t.Context(), id)
			shown, _ := b.a.Channel(t.Context(), id)
			for _, text := range []string{string(d.Error), string(shown.LastError), fmt.Sprint(err), b.log.String(), d.Error.In(texts.Printer(locales.Chinese))} {
				if strings.Contains(text, "t0ken") {
					t.Errorf("the token shows: %s", text)
				}
			}
		})
	}
}

func TestTelegramsSettings(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	ctx := t.Context()
	bare := Channel{Name: "bot", Kind: KindTelegram, Settings: Settings{Template: "{}", Host: "x"}}
	if _, err := b.a.CreateChannel(ctx, bare); err == nil || err.Error() != "invalid: secret: alarm.error.required, chat: alarm.error.required" {
		t.Errorf("without a token and a chat: %v", err)
	}
	bare.Settings.Secret, bare.Settings.Chat = " "+botToken+" ", " -1001 "
	id, err := b.a.CreateChannel(ctx, bare)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.a.readChannel(ctx, id)
	want := Settings{URL: "https://api.telegram.org", Secret: botToken, Chat: "-1001"}
	if err != nil || fmt.Sprint(c.settings) != fmt.Sprint(want) {
		t.Errorf("stored %+v, %v", c.settings, err)
	}
	shown, err := b.a.Channel(ctx, id)
	if err != nil || shown.Settings.Secret != "" || !shown.HasSecret || shown.Settings.Chat != "-1001" || strings.Contains(c.row.Config, "t0ken") {
		t.Errorf("shown %+v, %v", shown, err)
	}

	// The editors of a group send a token that they do not know to no server of their own.
	group := telegramChannel("https://bots.example.com", "-1001")
	group.Name, group.GroupID = "group's", 1
	if group.ID, err = b.a.CreateChannel(ctx, group); err != nil {
		t.Fatal(err)
	}
	group.Settings = Settings{URL: "https://evil.example.com", Chat: "-1001"}
	if err := b.a.UpdateChannel(ctx, group); err == nil || err.Error() != "invalid: secret: alarm.error.password_again" {
		t.Errorf("the token leaves: %v", err)
	}
	group.Settings.URL = "https://bots.example.com/"
	if err := b.a.UpdateChannel(ctx, group); err != nil {
		t.Errorf("the same address: %v", err)
	}
	group.Settings.URL, group.Settings.Chat = "", "@ops"
	if err := b.a.UpdateChannel(ctx, group); err != nil {
		t.Errorf("the address as it was: %v", err)
	}
}
