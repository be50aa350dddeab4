package alarm

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/webclient"
)

// telegramAPI is where bots are served, unless the channel names a server of one's own.
const telegramAPI = "https://api.telegram.org"

// maxTelegram is what a message may have, in bytes of the text: 4,096 units of UTF-16 are taken, which are no fewer.
const maxTelegram = 4_000

// telegramMention is what Telegram reads as somebody's name, and tells that somebody of.
var telegramMention = regexp.MustCompile(`(^|[^\pL\pN_])@([\pL\pN_])`)

// telegram is a message of a bot, as text without markup, so that nothing in it is a link that hides where it leads. Names of
// people get a joiner that nobody sees: what an executor wrote must not call anybody.
func telegram(s *Settings, m *message, _ time.Time) (*webCall, error) {
	title := clip(m.title(), 300)
	text := telegramMention.ReplaceAllString(title+"\n"+m.plain(maxTelegram-len(title)), "$1@\u2060$2")
	body, err := json.Marshal(map[string]any{
		"chat_id": s.Chat, "text": text, "link_preview_options": map[string]bool{"is_disabled": true},
	})
	call := &webCall{url: strings.TrimSuffix(s.URL, "/") + "/bot" + url.PathEscape(s.Secret) + "/sendMessage", body: body}
	call.answer = readTelegram
	return call, err
}

// readTelegram reads an answer: success and refusals have the same shape. A refusal for now says how long, and a group that
// became a supergroup has a new id.
func readTelegram(status int, body []byte) error {
	var answer struct {
		OK          *bool  `json:"ok"`
		Code        int    `json:"error_code"`
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter int   `json:"retry_after"`
			NewChat    int64 `json:"migrate_to_chat_id"`
		} `json:"parameters"`
	}
	err := json.Unmarshal(body, &answer)
	switch {
	case err != nil || answer.OK == nil || *answer.OK && status >= http.StatusMultipleChoices: // of somebody between
		if status < http.StatusMultipleChoices {
			return notUnderstood(body)
		}
		return httpAnswered(status, body)
	case *answer.OK:
		return nil
	}
	text := answer.Description
	if answer.Parameters.NewChat != 0 {
		text += " (" + strconv.FormatInt(answer.Parameters.NewChat, 10) + ")"
	}
	err = refused(answer.Code, text)
	if answer.Parameters.RetryAfter > 0 {
		return &busyError{error: err, wait: webclient.Pause(time.Duration(answer.Parameters.RetryAfter) * time.Second)}
	}
	return err
}
