package alarm

import (
	"slices"
	"time"
)

// Kind is what sort of server a channel talks to. It never changes.
type Kind string

// The kinds that others ask for by name; all of them are in the table.
const (
	KindMail      Kind = "mail"
	KindDingTalk  Kind = "dingtalk"
	KindWeCom     Kind = "wecom"
	KindFeishu    Kind = "feishu" // and Lark, its name outside of China
	KindSlack     Kind = "slack"
	KindTeams     Kind = "teams"
	KindTelegram  Kind = "telegram"
	KindPagerDuty Kind = "pagerduty" // and what takes its events
	KindWebhook   Kind = "webhook"
)

// KindInfo is what there is to know of a kind. A new kind is an entry of the table, the words alarms.kind.NAME and
// alarms.kind.NAME.help (and alarms.field.secret.NAME.help when it takes a secret, alarms.field.token.NAME when it needs it, alarms.field.api.NAME.help
// when it has an address of its own), and its case in TestEachProviderGetsWhatItExpects.
type KindInfo struct {
	Kind      Kind
	Icon      string      // of views/icon
	Example   string      // how an address begins
	Default   string      // the address when none is given; empty: one has to be
	Secret    SecretUse   // what the secret is for
	Chat      bool        // names the conversation beside the address
	Template  bool        // of the body
	Incidents bool        // it keeps an incident of each job: alarms come one by one, recoveries and acknowledgements always
	call      callBuilder // nil: mail, which is no webhook
}

// callBuilder makes the request that carries a message. now is for signatures.
// It may be nil: there is nothing to say.
type callBuilder func(s *Settings, m *message, now time.Time) (*webCall, error)

// SecretUse is what a kind does with [Settings.Secret].
type SecretUse int

const (
	SecretNone  SecretUse = iota // it has none beside its address
	SecretSigns                  // it signs messages, if there is one
	SecretToken                  // it is sent along, and needed
)

// kinds is the table, in the order in which a form offers the kinds.
var kinds = []KindInfo{
	{Kind: KindMail, Icon: "mail"},
	{Kind: KindDingTalk, Icon: "message-square", Example: "https://oapi.dingtalk.com/robot/send?access_token=…", Secret: SecretSigns, call: dingTalk},
	{Kind: KindWeCom, Icon: "message-square", Example: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…", call: weCom},
	{Kind: KindFeishu, Icon: "message-square", Example: "https://open.feishu.cn/open-apis/bot/v2/hook/…", Secret: SecretSigns, call: feishu},
	{Kind: KindSlack, Icon: "message-square", Example: "https://hooks.slack.com/services/…", call: slack},
	{Kind: KindTeams, Icon: "message-square", Example: "https://….environment.api.powerplatform.com/powerautomate/automations/direct/workflows/…", call: teams},
	{Kind: KindTelegram, Icon: "send", Example: telegramAPI, Default: telegramAPI, Secret: SecretToken, Chat: true, call: telegram},
	{Kind: KindPagerDuty, Icon: "webhook", Example: pagerDutyAPI, Default: pagerDutyAPI, Secret: SecretToken, Incidents: true, call: pagerDuty},
	{Kind: KindWebhook, Icon: "webhook", Example: "https://alarms.example.com/punctual", Secret: SecretSigns, Template: true, call: hook},
}

// Kinds lists the kinds in the order in which a form offers them.
func Kinds() []KindInfo { return slices.Clone(kinds) }

// Info is the entry of a kind in the table, and whether there is one: a newer version may have saved others.
func (k Kind) Info() (KindInfo, bool) {
	at := slices.IndexFunc(kinds, func(i KindInfo) bool { return i.Kind == k })
	if at < 0 {
		return KindInfo{}, false
	}
	return kinds[at], true
}
