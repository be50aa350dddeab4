package alarm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What the providers take, in bytes of the text, with room for the rest of the request.
const (
	maxDingTalk = 15_000 // of 20,000
	maxWeCom    = 1_900  // of 2,048
	maxFeishu   = 15_000 // of 20 K
	maxSlack    = 3_500  // what is shown without folding; 40,000 are taken
	maxTeams    = 10_000 // of 28 K of JSON, in which a character may take up to six bytes
)

func hmacBase64(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// dingTalk is a message for a DingTalk robot. With a secret it is signed: the HMAC of "time\nsecret" under the secret, in
// the query. Robots that ask for a keyword find the product's name in every title.
func dingTalk(s *Settings, m *message, now time.Time) (*webCall, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, troubled(hookAddress)
	}
	if s.Secret != "" {
		ms := strconv.FormatInt(now.UnixMilli(), 10)
		q := u.Query()
		q.Set("timestamp", ms)
		q.Set("sign", hmacBase64(s.Secret, ms+"\n"+s.Secret))
		u.RawQuery = q.Encode()
	}
	body, err := json.Marshal(map[string]any{
		"msgtype": "text",
		"text":    map[string]string{"content": m.title() + "\n" + m.plain(maxDingTalk)},
	})
	return &webCall{url: u.String(), body: body, check: checkErrCode}, err
}

// weCom is a message for a WeCom group robot, whose address is its only secret.
func weCom(s *Settings, m *message, _ time.Time) (*webCall, error) {
	title := clip(m.title(), 300)
	body, err := json.Marshal(map[string]any{
		"msgtype": "text",
		"text":    map[string]string{"content": title + "\n" + m.plain(maxWeCom-len(title))},
	})
	return &webCall{url: s.URL, body: body, check: checkErrCode}, err
}

// checkErrCode reads the answers of DingTalk and WeCom, which say 200 whatever happened.
func checkErrCode(body []byte) error {
	var answer struct {
		ErrCode *int   `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.ErrCode == nil {
		return notUnderstood(body)
	}
	if *answer.ErrCode != 0 {
		return refused(*answer.ErrCode, answer.ErrMsg)
	}
	return nil
}

func notUnderstood(body []byte) error {
	if text := excerpt(body); text != "" {
		return troubled(hookOdd, text)
	}
	return troubled(hookMute)
}

// refused is a refusal with the provider's own code.
func refused(code int, message string) error {
	if text := excerpt([]byte(message)); text != "" {
		return troubled(hookRefused, code, text)
	}
	return troubled(hookDenied, code)
}

// feishu is a message for a Feishu or Lark robot: a post, whose text nodes cannot mention anybody, where plain text could.
// The signature is the HMAC of nothing under "time\nsecret", time in seconds, in the body.
func feishu(s *Settings, m *message, now time.Time) (*webCall, error) {
	type node map[string]string
	var lines [][]node
	for text := range strings.SplitSeq(m.plain(maxFeishu), "\n") {
		switch trimmed := strings.TrimSpace(text); {
		case strings.HasPrefix(trimmed, "http://"), strings.HasPrefix(trimmed, "https://"):
			if m.isLink(trimmed) {
				lines = append(lines, []node{{"tag": "a", "text": trimmed, "href": trimmed}})
				continue
			}
		}
		lines = append(lines, []node{{"tag": "text", "text": text}})
	}
	lang := "zh_cn"
	if m.lang == "en" {
		lang = "en_us"
	}
	payload := map[string]any{
		"msg_type": "post",
		"content":  map[string]any{"post": map[string]any{lang: map[string]any{"title": m.title(), "content": lines}}},
	}
	if s.Secret != "" {
		seconds := strconv.FormatInt(now.Unix(), 10)
		payload["timestamp"] = seconds
		payload["sign"] = hmacBase64(seconds+"\n"+s.Secret, "")
	}
	body, err := json.Marshal(payload)
	return &webCall{url: s.URL, body: body, check: checkFeishu}, err
}

// isLink reports whether a line is a link of ours, and not one that an executor wrote.
func (m *message) isLink(text string) bool {
	if text == m.all {
		return true
	}
	for i := range m.items {
		if m.items[i].link == text || m.items[i].ack == text || m.items[i].book == text {
			return true
		}
	}
	return false
}

// checkFeishu reads both spellings of its answers, the older and the newer.
func checkFeishu(body []byte) error {
	var answer struct {
		Code       *int   `json:"code"`
		Msg        string `json:"msg"`
		StatusCode *int   `json:"StatusCode"`
		StatusMsg  string `json:"StatusMessage"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Code == nil && answer.StatusCode == nil {
		return notUnderstood(body)
	}
	if answer.Code != nil && *answer.Code != 0 {
		return refused(*answer.Code, answer.Msg)
	}
	if answer.Code == nil && *answer.StatusCode != 0 {
		return refused(*answer.StatusCode, answer.StatusMsg)
	}
	return nil
}

// slackEscape takes the meaning from the three characters that have one in Slack's text: with them go mentions and links
// that hide where they lead.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slack is a message for an incoming webhook of Slack, and of the tools that speak its way (Mattermost, Rocket.Chat).
func slack(s *Settings, m *message, _ time.Time) (*webCall, error) {
	body, err := json.Marshal(map[string]any{
		"text": slackEscape.Replace(m.title() + "\n" + m.plain(maxSlack)), "mrkdwn": false,
	})
	return &webCall{url: s.URL, body: body}, err
}

// teams is a message for a workflow of Microsoft Teams that posts what a webhook brings: an adaptive card. Its text runs know no markup,
// where a text block would make links of what an executor wrote.
func teams(s *Settings, m *message, _ time.Time) (*webCall, error) {
	run := func(text string, bold bool) map[string]any {
		part := map[string]any{"type": "TextRun", "text": text}
		if bold {
			part["weight"] = "Bolder"
		}
		return map[string]any{"type": "RichTextBlock", "inlines": []any{part}}
	}
	blocks := []any{run(m.title(), true)}
	for text := range strings.SplitSeq(m.plain(maxTeams), "\n") {
		if text = strings.TrimSpace(text); text != "" && !m.isLink(text) && !slices.Contains([]string{m.words.T("alarm.all.link"), m.words.T("alarm.ack.link"), m.words.T("alarm.runbook")}, text) {
			blocks = append(blocks, run(text, false))
		}
	}
	card := map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": blocks}
	var actions []any
	if all := m.openAlarms(); all != "" {
		actions = append(actions, map[string]any{"type": "Action.OpenUrl", "title": m.words.T("alarm.all.link"), "url": all})
	}
	for i := range m.items {
		if it := &m.items[i]; it.link != "" && len(actions) < maxTeamsLinks {
			actions = append(actions, map[string]any{"type": "Action.OpenUrl", "title": clip(it.job, 80), "url": it.link})
			if it.book != "" {
				actions = append(actions, map[string]any{"type": "Action.OpenUrl", "title": m.words.T("alarm.runbook"), "url": it.book})
			}
			if it.ack != "" {
				actions = append(actions, map[string]any{"type": "Action.OpenUrl", "title": m.words.T("alarm.ack"), "url": it.ack})
			}
		}
	}
	if len(actions) > 0 {
		card["actions"] = actions
	}
	body, err := json.Marshal(map[string]any{
		"type":        "message",
		"attachments": []any{map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card}},
	})
	return &webCall{url: s.URL, body: body}, err
}

// maxTeamsLinks is how many buttons Teams shows of a card.
const maxTeamsLinks = 6
