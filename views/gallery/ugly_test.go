package gallery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/static"
	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/audit"
	"github.com/punctual-job/punctual/views/browsertest"
	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/notes"
	"github.com/punctual-job/punctual/views/palette"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/timeline"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/users"
	"github.com/punctual-job/punctual/views/webhooks"
)

// uglyKind is a way in which what people write is hard to draw.
type uglyKind struct {
	name string
	lang string
	say  func(english string, most int) string // of at most so many characters
}

// uglyKinds are names without a place to break, and names in scripts that are wide, go the other way, or stand on one another.
var uglyKinds = []uglyKind{
	{"letters", locales.English, func(_ string, most int) string {
		return string([]rune(strings.Repeat("com.example.Reconciliation_OfAllPaymentChannels/", most/40+1))[:most])
	}},
	{"scripts", locales.Chinese, func(english string, most int) string {
		h := fnv.New32a()
		h.Write([]byte(english))
		text := []string{
			"每日核对全部门店的销售流水并汇总为凭证", "إغلاق الطلبات غير المدفوعة (النسخة ٢) ", "Ệ̷̢̛̜͈́͒r̶̡̺̈́̆g̵̨̛̘e̶̡̛b̷̧̛̹n̶̨̛i̸̢͝s̸̛͜ ", "סגירת הזמנות — orders 2026 \u202egnidne ",
		}[h.Sum32()%4]
		return string([]rune(strings.Repeat(text, most/len([]rune(text))+1))[:min(most, 64)])
	}},
	{"marks", locales.English, func(_ string, most int) string {
		text := "👩🏽‍🚀🏴‍☠️<b onclick=alert(1)>&amp;</b>\n\n\u200b\u200d\ufeff\u2066الطلبات\u2069👨‍👩‍👧‍👦\t\u202ex"
		return string([]rune(strings.Repeat(text, most/len([]rune(text))+1))[:most])
	}},
}

// shortNames are what may have no more than 64 characters: executors, people, channels, teams.
var shortNames = regexp.MustCompile(`^(Orders|Payments|Reporting|Sample executor|Legacy billing|Stock.*|Service|New|Billing|Mina Wang|Jonas Li|Ada Chen|Leo Zhao|mina|On call|Operations mail|Old ticket system|Payments on call|Data platform|Night shift|New team|Auditing|Duty manager|phone|Authenticator.*|Company account|Plant|My jobs|Wall board|nightly reports|Region|Limit|Until|Business day|every \d.*|Mon, Tue|[\d,–]+\+? (of|jobs).*)$`)

// uglyFakes are those whose names are ugly in one way.
func uglyFakes(kind uglyKind) fakes {
	return fakes{Printer: locales.New().Printer(kind.lang), theme: layout.ThemeLight, now: time.Date(2026, 11, 21, 10, 5, 12, 0, time.UTC), names: func(english string) string {
		switch {
		case strings.HasSuffix(english, ".") || strings.Contains(english, "{{") || strings.Contains(english, ": #"):
			return english // the program says it
		case shortNames.MatchString(english):
			if english[0] >= '0' && english[0] <= '9' || strings.HasPrefix(english, "every") {
				return english
			}
			return kind.say(english, 64)
		}
		return kind.say(english, 200)
	}}
}

// written are the fields of page structs that hold what people or programs write, with how long that may be.
var written = map[string]int{
	"Author": 64, "Handler": 100, "Param": 500, "SentParam": 500, "Message": 300, "Reason": 255, "AppName": 64, "Address": 255, "Remark": 500, "Recipient": 200, "Target": 400, "Detail": 1000,
	"Decided": 500, "Output": 2000, "Owner": 64, "User": 50, "Program": 64, "Agent": 120, "Full": 500, "Tags": 40, "Why": 2000, "SendNote": 1000, "ResultNote": 1000,
}

// uglier fills what people and programs write in a page, to the end of what there may be.
func uglier[P any](kind uglyKind, page P) P {
	uglify(kind, reflect.ValueOf(&page).Elem())
	return page
}

func uglify(kind uglyKind, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Kind() == reflect.Pointer {
			uglify(kind, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			uglify(kind, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field, value := v.Type().Field(i), v.Field(i)
			if !field.IsExported() || field.Type == reflect.TypeFor[layout.Page]() || field.Type == reflect.TypeFor[*locales.Printer]() {
				continue
			}
			most := written[field.Name]
			switch {
			case most > 0 && value.Kind() == reflect.String && value.Type() == reflect.TypeFor[string]() && value.Len() > 0:
				text := value.String()
				if strings.HasPrefix(text, "http") {
					text = "http://"
				} else {
					text = ""
				}
				value.SetString(text + kind.say(field.Name, most-len(text)))
			case most > 0 && value.Type() == reflect.TypeFor[[]string]():
				for j := range value.Len() {
					value.Index(j).SetString(kind.say(field.Name, most))
				}
			default:
				uglify(kind, value)
			}
		}
	default:
	}
}

// uglyPages are pages with as much on them as there may be.
func uglyPages(kind uglyKind) []page {
	f := uglyFakes(kind)
	f.Printer = locales.New().Printer(kind.lang)
	var tags []string
	for i := range 40 {
		tags = append(tags, fmt.Sprintf("%02d-%s", i, kind.say("tag", 37)))
	}
	address := func(i int) string {
		return fmt.Sprintf("http://executor-%03d.%s.internal:9999/", i, strings.Repeat("payments-", 20))
	}
	var addresses []groups.Address
	for i := range 200 {
		addresses = append(addresses, groups.Address{URL: address(i), State: groups.AddressStates[i%len(groups.AddressStates)], Beat: f.at(-time.Minute), InFlight: 12345678, Queued: 12345678, Era: "J4"})
	}
	line := strings.Repeat("ERROR:com.example.Ledger$Proxy/", 10_000/31)

	list := uglier(kind, f.jobs())
	list.Total, list.Pager.Summary = 12_345_678, "12,345,601–12,345,650 / 12,345,678"
	for i := range list.Rows {
		r := &list.Rows[i]
		r.ID, r.Tags, r.Last.LogID = 12_345_678+int64(i), tags, 12_345_678
		r.Last.State = runstate.Failed
		r.History = slices.Repeat([]jobs.Mark{jobs.MarkBad}, 30)
		if r.ScheduleType == "CRON" {
			r.Schedule = "0 0,5,10,15,20,25,30,35,40,45,50,55 0-5,6,7,8,9,10,11,12-23/2 ? 1,2,3,4,5,6,7,8,9,10,11,12 MON,TUE,WED,THU,FRI,SAT,SUN 2026-2099"
		}
	}
	failing := uglier(kind, f.jobFailing())
	job := &failing
	job.Row.Tags, job.Row.ID = tags, 12_345_678
	job.Executors = &groups.Row{ID: 1, AppName: kind.say("app", 64), Title: f.zh("订单服务", "Orders"), Addresses: addresses, Online: 150, Jobs: 12_345_678}
	job.Runs = f.bars(50, time.Hour, 84*time.Second, failures(50))
	for i := range job.Failures {
		job.Failures[i].Message, job.Failures[i].Faults = line[:300], f.T("job.faults", "Count", 12_345_678, "N", "12,345,678")
	}
	job.Failing = &jobs.Failing{Run: jobs.RunLine{LogID: 1 << 53, State: runstate.Failed, At: f.at(-time.Hour), Message: line[:300]}, Count: 12_345_678, Of: 12_345_678, More: true, Since: f.at(-1000 * time.Hour), Ack: f.ackOf("7", kind.say("ana", 50), kind.say("remark", 200))}
	for i := range 50 {
		job.Notes = append(job.Notes, ui.Note{ID: int64(i), Text: kind.say("note", 2000), By: kind.say("by", 50), At: f.at(-time.Hour), May: true})
	}
	for i := range 10 {
		job.Hearing.Told = append(job.Hearing.Told, jobs.Told{Name: fmt.Sprint(i, kind.say("channel", 60)), Kind: f.T("alarms.kind.mail"), Icon: "mail", URL: link.Alarm(1), Why: []string{f.T("job.told.own", "Addresses", recipients)}, Causes: f.T("alarm.cause.failed")})
		job.Parents = append(job.Parents, jobs.Relative{ID: int64(12_345_678 + i), Name: f.zh("每日对账", "Daily reconciliation")})
		job.Children = append(job.Children, jobs.Relative{ID: int64(12_345_678 + i), Name: f.zh("记总账", "Post the ledger")})
		job.Config = append(job.Config, jobs.Fact{Label: f.T("jobs.field.param"), Value: kind.say("param", 2000), Code: true}, jobs.Fact{Label: f.T("jobs.field.author"), Value: kind.say("author", 64)})
	}

	allRuns := uglier(kind, f.runs())
	for i := range allRuns.Rows {
		r := &allRuns.Rows[i]
		r.LogID, r.JobID, r.Duration, r.Lateness, r.Message = 12_345_678-int64(i), 12_345_678, "123 h 59 min", "+123 h 59 min", line[:300]
	}
	failed := uglier(kind, f.runFailed())
	failed.Log.Lines = []string{line, kind.say("line", 2000), "\x1b[31m" + line + "\x1b[0m https://wiki.example.com/" + line}
	failed.Timeline.Cause.Text, failed.Timeline.Why, failed.Timeline.LogID = line[:1000], line, 12_345_678
	for i := range 40 {
		failed.Timeline.Attempts = append(failed.Timeline.Attempts, runs.Attempt{LogID: 12_345_678 + int64(i), State: runstate.Failed})
	}
	for i := range 200 {
		failed.Timeline.Shards = append(failed.Timeline.Shards, runs.Shard{LogID: 12_345_678 + int64(i), Shard: fmt.Sprintf("%d/200", i+1), Address: address(i), State: runstate.Failed})
	}
	failed.Timeline.Broadcast, failed.Timeline.ShardsDone = runstate.Failed, f.T("runs.shards.done", "N", "200", "All", "200")
	live := uglier(kind, f.runLive())
	live.Log.Lines = failed.Log.Lines

	run := uglier(kind, f.runFlow())
	flowRun := run.Timeline.Flow
	for i := len(flowRun.Steps); i < 60; i++ {
		s := flowRun.Steps[i%10]
		s.ID, s.Needs = fmt.Sprintf("step_%02d_%s", i, strings.Repeat("x", 40)), []string{flowRun.Steps[i-10].ID, flowRun.Steps[i-1].ID}
		flowRun.Steps = append(flowRun.Steps, s)
		n := flowRun.Graph.Nodes[i%10]
		n.ID, n.Needs, n.URL = s.ID, s.Needs, "#step-"+s.ID
		flowRun.Graph.Nodes = append(flowRun.Graph.Nodes, n)
	}
	edit := f.flowEdit(false)
	edit.Source += line
	for i := len(edit.Flow.Graph.Nodes); i < 60; i++ {
		n := edit.Flow.Graph.Nodes[i%10]
		n.ID, n.Needs = fmt.Sprintf("step_%02d_%s", i, strings.Repeat("x", 40)), []string{edit.Flow.Graph.Nodes[i-1].ID}
		edit.Flow.Graph.Nodes = append(edit.Flow.Graph.Nodes, n)
	}
	edit.Flow.Form.Steps = f.flowForm(edit.Flow.Graph).Steps
	jobOfFlow := f.jobOfFlow()
	jobOfFlow.Flow.Nodes = edit.Flow.Graph.Nodes

	detail := uglier(kind, f.groupDetail())
	detail.Jobs, detail.Addresses, detail.Slots = 12_345_678, addresses, groups.Slots{Limit: 99_999, Running: 99_999, Waiting: 12_345_678}
	detail.Refused = uglier(kind, f.refused())
	all := uglier(kind, f.groups())
	for i := range all.Rows {
		all.Rows[i].Jobs = 12_345_678
	}
	all.Rows[0].Addresses = addresses

	channel := f.alarmTested()
	channel.Channel.Name, channel.Channel.Target, channel.Channel.Error = kind.say("name", 64), recipients, line
	channel.Messages = uglier(kind, channel.Messages)
	for i := range 10 {
		channel.Messages[i%5].Recipient = fmt.Sprintf("%s@%s.example.com", strings.Repeat("a", 60), strings.Repeat("sub.", 30))
		channel.Messages[i%5].Error = line
		channel.Channel.Before = append(channel.Channel.Before, kind.say("before", 64))
	}
	mail := f.alarmMailEdit()
	mail.Values.Recipients = recipients
	open := uglier(kind, f.openAlarms())

	board := f.dashboard(true)
	for i := range board.Troubles {
		t := &board.Troubles[i]
		t.N, t.Count, t.Items = 12_345_678, "12,345,678", slices.Repeat(board.Troubles[0].Items, 2)
		for j := range t.Items {
			t.Items[j].Detail = line[:300]
			t.Items[j].Again = "/jobs/7/run?from=90417"
			t.Items[j].Ack = f.ackOf("7", "", "")
		}
	}
	for i := range board.Counts {
		board.Counts[i].Value = "12,345,678"
		for j := range board.Counts[i].Details {
			board.Counts[i].Details[j].Text = f.T("dashboard.count.failed", "N", "12,345,678")
		}
	}
	for i := range board.Busiest {
		board.Busiest[i].Count, board.Busiest[i].Jobs = f.T("dashboard.ahead.count", "N", "12,345,678"), f.T("dashboard.ahead.jobs", "Count", 12_345_678, "N", "12,345,678")
	}
	board.Pulse.Rate, board.Pulse.P50, board.Pulse.P99 = "12,345,678", "12,345 ms", "12,345 ms"
	board.Days.Max, board.Pulse.Minutes.Max, board.Ahead.Max = "12,345,678", "12,345,678", "12,345,678"
	wall := board
	wall.Page, wall.At = f.page("/wall"), f.at(0)
	wall.Running = wall.Troubles[0]

	grid := f.timelinePage()
	for range 5 {
		grid.Rows = append(grid.Rows, grid.Rows...)
	}
	grid.Rows = grid.Rows[:50]

	log := uglier(kind, f.audit())
	for i := range log.Rows {
		log.Rows[i].Address = "2001:db8:1234:5678:9abc:def0:1234:5678"
	}
	entry := f.auditEntry()
	entry.What.User, entry.What.Name, entry.What.Address = kind.say("user", 50), f.zh("每日对账", "Daily reconciliation"), "2001:db8:1234:5678:9abc:def0:1234:5678"
	entry.Changes = append(entry.Changes, audit.Change{Field: f.T("audit.field.executor_param"), Before: kind.say("before", 2000), After: line},
		audit.Change{Field: f.T("audit.field.glue_source"), Before: "x", After: "y", Lines: []audit.Line{{Mark: audit.LineRemoved, Text: line}, {Mark: audit.LineAdded, Text: kind.say("line", 2000)}}})
	people := uglier(kind, f.users())
	for i := range people.Rows {
		people.Rows[i].Name, people.Rows[i].Sessions = kind.say("people", 50), 1234
		for g := range 40 {
			people.Rows[i].Groups = append(people.Rows[i].Groups, fmt.Sprint(g, kind.say("group", 62)))
			people.Rows[i].Teams = append(people.Rows[i].Teams, fmt.Sprint(g, kind.say("team", 48)))
		}
	}
	hook := uglier(kind, f.webhook())
	account := uglier(kind, f.profile())
	account.User.Name = kind.say("name", 50)
	form := f.jobEdit()
	form.Values[jobs.FieldParam], form.Values[jobs.FieldHandler], form.Values["tags"] = line, kind.say("handler", 255), strings.Join(tags, ", ")
	form.Values[jobs.FieldAlarmEmail], form.Values[jobs.FieldSource] = recipients, line
	form.Errors = jobs.FieldErrors{jobs.FieldCron: f.T("flow.error.at", "Step", "check", "Part", "needs", "Line", 8, "Text", line)}
	preview := f.bulk("stop")
	return []page{
		{"ugly-jobs", "", jobs.List(list)},
		{"ugly-job", "", jobs.Detail(failing)},
		{"ugly-job-edit", "", jobs.Form(form)},
		{"ugly-job-flow", "", jobs.Detail(jobOfFlow)},
		{"ugly-runs", "", runs.List(allRuns)},
		{"ugly-run-failed", "", runs.Detail(failed)},
		{"ugly-run-live", "", runs.Detail(live)},
		{"ugly-run-flow", "", runs.Detail(run)},
		{"ugly-run-flow-items", "", runs.Items(uglier(kind, f.flowItems()))},
		{"ugly-flow-edit", "", glue.Edit(edit)},
		{"ugly-glue", "", glue.Edit(uglier(kind, f.glue()))},
		{"ugly-executor", "", groups.Detail(detail)},
		{"ugly-executors", "", groups.List(all)},
		{"ugly-alarm", "", alarms.Detail(channel)},
		{"ugly-alarms", "", alarms.List(alarms.ListPage{Page: f.page("/alarms"), Channels: []alarms.Channel{channel.Channel}, Messages: channel.Messages})},
		{"ugly-alarm-messages", "", alarms.Messages(alarms.MessagesPage{Page: f.page("/alarms/messages"), Rows: channel.Messages})},
		{"ugly-alarm-mail", "", alarms.Form(mail)},
		{"ugly-alarms-open", "", alarms.OpenList(open)},
		{"ugly-dashboard", "", dashboard.Whole(board)},
		{"ugly-wall", "", dashboard.Wall(wall)},
		{"ugly-timeline", "", timeline.Whole(grid)},
		{"ugly-audit", "", audit.List(log)},
		{"ugly-audit-entry", "", audit.Entry(entry)},
		{"ugly-users", "", users.List(people)},
		{"ugly-profile", "", users.Profile(account)},
		{"ugly-webhook", "", webhooks.Show(hook)},
		{"ugly-note", "", notes.Form(notes.FormPage{Page: f.page("/jobs/7/note"), Name: f.zh("每日对账", "Daily reconciliation"), Action: "/jobs/7/note", Back: "/jobs/7", Max: 500, May: true, Text: kind.say("note", 500)})},
		{"ugly-run-kill", "", runs.Kill(runs.KillPage{Page: f.page("/runs/90431/kill"), Row: allRuns.Rows[1], Beside: 12_345_678, Scopes: f.killScopes()})},
		{"ugly-job-run", "", jobs.RunOnce(uglier(kind, f.runOnceAsked()))},
		{"ugly-jobs-bulk", "", jobs.Bulk(uglier(kind, preview))},
		{"ugly-flow-compare", "", glue.Compare(f.flowCompare())},
		{"ugly-flow-preview", "", jobs.Chain(f.chain(""))},
	}
}

// recipients are ten.
var recipients = strings.Join(slices.Repeat([]string{strings.Repeat("night.shift.", 5) + "operations@mail.payments.example.com"}, 10), ", ")

// failures are as many, one after the other.
func failures(n int) map[int]runstate.State {
	all := make(map[int]runstate.State)
	for i := range n {
		all[i+1] = runstate.Failed
	}
	return all
}

// TestUglyDataKeepsItsPlace draws every page with names that are as long as they may be and cannot be broken, that are wide, go from right to left
// or stand on one another, or with emoji, markup, line breaks and what has no width; and pages with as much on them as there may be. On a laptop and on a phone none is wider than its window, whatever can
// be pressed is in reach, no text covers another, and none leaves its box.
func TestUglyDataKeepsItsPlace(t *testing.T) {
	var drawn []page
	for _, kind := range uglyKinds {
		some := uglyPages(kind)
		found := uglyFakes(kind).palette()
		found.Box = true
		some = append(some, page{"palette", "/palette", palette.Palette(found)})
		if kind.name == "letters" { // which are the hardest, and every page takes its time
			some = append(some, uglyFakes(kind).pages()...)
		}
		for _, p := range some {
			p.name = kind.name + "/" + p.name
			drawn = append(drawn, p)
		}
	}
	keepTheirPlace(t, drawn, [][2]int64{{1280, 720}, {390, 844}})
}

// TestTextTwiceAsLargeKeepsItsPlace has a reader whose browser shows text at twice the size that it comes with, without making all else larger: the text of the
// pages is as large, and they break as in a window in which as much text has room.
func TestTextTwiceAsLargeKeepsItsPlace(t *testing.T) {
	var drawn []page
	seen := make(map[string]bool) // each page in one of its states, and in one language
	for i, lang := range []string{locales.English, locales.Chinese} {
		f := fakes{Printer: locales.New().Printer(lang), theme: layout.ThemeLight, now: time.Date(2026, 11, 21, 10, 5, 12, 0, time.UTC)}
		for j, p := range f.pages() {
			if at := regexp.MustCompile(`\?.*|\d+`).ReplaceAllString(p.path, ""); j%2 == i && !seen[at] {
				seen[at] = true
				p.name = lang + "/" + p.name
				drawn = append(drawn, p)
			}
		}
	}
	var size string
	twice := chromedp.Tasks{chromedp.ActionFunc(func(ctx context.Context) error {
		return browserpage.SetFontSizes(&browserpage.FontSizes{Standard: 32, Fixed: 26}).Do(ctx)
	}), chromedp.Reload(), chromedp.Evaluate(`getComputedStyle(document.body).fontSize`, &size)}
	keepTheirPlace(t, drawn, [][2]int64{{1440, 900}}, twice)
	if size != "28px" {
		t.Errorf("text of 14 px has %s where it is to be twice as large", size)
	}
}

// keepTheirPlace looks at pages in windows of some sizes, after something was done to the browser: none is wider than its window, whatever can be pressed is in
// reach, no text covers another, and none leaves its box.
func keepTheirPlace(t *testing.T, drawn []page, sizes [][2]int64, before ...chromedp.Action) {
	t.Helper()
	var first []byte
	var pages []headed
	for _, p := range drawn {
		page, whole := bodyOf(t, p.component)
		page.Path = p.name
		pages = append(pages, page)
		if first == nil {
			first = regexp.MustCompile(`<script[^>]*></script>`).ReplaceAll(whole, nil)
		}
	}
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(first)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	do := doer(browsertest.Open(t))
	do(t, append([]chromedp.Action{chromedp.Navigate(server.URL + "/")}, before...)...)
	for _, size := range sizes {
		do(t, chromedp.EmulateViewport(size[0], size[1]))
		for _, page := range pages {
			shown, err := json.Marshal(page)
			if err != nil {
				t.Fatal(err)
			}
			var wrong []string
			do(t, chromedp.Evaluate(`(async (page) => {`+place+`})(`+string(shown)+`)`, &wrong, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
			for _, w := range wrong {
				t.Errorf("%s at %d: %s", page.Path, size[0], w)
			}
		}
	}
}

// bodyOf draws a page and takes it apart.
func bodyOf(t *testing.T, c templ.Component) (headed, []byte) {
	t.Helper()
	var buf bytes.Buffer
	if err := c.Render(t.Context(), &buf); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(buf.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	page := headed{Attributes: make(map[string]string)}
	for _, a := range doc.Find("html").Get(0).Attr {
		page.Attributes[a.Key] = a.Val
	}
	if page.Body, err = goquery.OuterHtml(doc.Find("body")); err != nil {
		t.Fatal(err)
	}
	return page, buf.Bytes()
}

// place puts a page where another was and says what is out of place in it: first as it stands, then, where it is a question, as the dialog.
const place = `
	const html = document.documentElement;
	for (const name of html.getAttributeNames()) html.removeAttribute(name);
	for (const [name, value] of Object.entries(page.Attributes)) html.setAttribute(name, value);
	document.body.outerHTML = page.Body;
	document.querySelector("#toasts")?.replaceChildren(); // they go by themselves
	document.querySelectorAll("details:not(.menu)").forEach((d) => d.open = true);
	const grown = parseFloat(getComputedStyle(html).fontSize) / 16; // with the text that its reader wants
	const frame = () => new Promise(requestAnimationFrame);
	const sheets = () => [...document.querySelectorAll("link[rel=stylesheet]")].every((l) => l.sheet);
	const wrong = [];
	const say = (what, e, more = "") => wrong.push(what + ": " + (e.id || e.className.baseVal || e.className || e.localName) + " “" + (e.textContent || e.outerHTML).trim().replace(/\s+/g, " ").slice(0, 60) + "” " + more);
	const seen = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
	const parts = (e) => [e.left, e.top, e.right, e.bottom].map(Math.round).join(" ");
	// The room in which something in an element can be seen. It is known until something scrolls.
	let rooms = new Map();
	const room = (e) => {
		if (!e || e === html || e === document.body) return { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9 };
		if (rooms.has(e)) return rooms.get(e);
		const style = getComputedStyle(e), own = e.getBoundingClientRect(), r = { ...room(style.position === "fixed" ? null : e.parentElement) };
		if (style.overflowX !== "visible") [r.left, r.right] = [Math.max(r.left, own.left), Math.min(r.right, own.right)];
		if (style.overflowY !== "visible") [r.top, r.bottom] = [Math.max(r.top, own.top), Math.min(r.bottom, own.bottom)];
		rooms.set(e, r);
		return r;
	};
	// What can be seen of a rectangle in an element.
	const shown = (r, e) => {
		const around = room(e), left = Math.max(r.left, around.left), top = Math.max(r.top, around.top), right = Math.min(r.right, around.right), bottom = Math.min(r.bottom, around.bottom);
		return { left, top, right, bottom, wide: right - left, high: bottom - top };
	};
	const floats = (e) => {
		for (; e && e !== html; e = e.parentElement) if (/fixed|sticky/.test(getComputedStyle(e).position) && e.localName !== "th") return e;
	};
	const look = (root) => {
		const from = wrong.length;
		scrollTo(0, 0);
		rooms = new Map();
		if (html.scrollWidth > innerWidth) {
			const wide = [...root.querySelectorAll("*")].filter((e) => shown(e.getBoundingClientRect(), e.parentElement).right > innerWidth + 1 && seen(e));
			say("wider than the window, " + html.scrollWidth, wide.at(-1) ?? root, wide.length);
		}
		// Texts, by lines.
		const texts = [], walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), range = document.createRange();
		while (walk.nextNode()) {
			const parent = walk.currentNode.parentElement;
			if (!walk.currentNode.data.trim() || parent.closest("script, style, select, textarea, noscript, template") || !seen(parent) || floats(parent) && !root.matches("dialog")) continue;
			range.selectNodeContents(walk.currentNode);
			for (const r of range.getClientRects()) {
				const s = shown(r, parent);
				if (s.wide < 2 || s.high < 4) continue;
				texts.push({ ...s, parent });
				const box = parent.closest("td, .badge, .button, .tag, .chip, .notice, .card, .panel, fieldset, dialog, main");
				const edge = box?.getBoundingClientRect();
				if (edge?.width && (s.right > edge.right + 1 || s.left < edge.left - 1)) say("leaves its box", parent, (box.className || box.localName) + " " + parts(s) + " of " + parts(edge));
			}
		}
		texts.sort((a, b) => a.top - b.top);
		for (let i = 0; i < texts.length; i++) {
			const a = texts[i];
			for (let j = i + 1; j < texts.length && texts[j].top < a.bottom; j++) {
				const b = texts[j];
				const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - b.top;
				if (a.parent !== b.parent && across > 2 && down > Math.min(a.high, b.high) / 2) say("covers", a.parent, b.parent.textContent.trim().slice(0, 40) + " " + parts(a) + " and " + parts(b));
			}
		}
		// What can be pressed.
		for (const e of [...root.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].slice(0, 200)) {
			if (!seen(e) || e.closest(".visually-hidden, .skip, svg") || e.closest("thead") && innerWidth < 760 * grown) continue;
			e.scrollIntoView({ block: "center", inline: "nearest" });
			for (let up = e.parentElement; up; up = up.parentElement) if (/hidden|clip/.test(getComputedStyle(up).overflowX)) up.scrollLeft = up.scrollTop = 0;
			rooms = new Map();
			const own = [...e.getClientRects()].find((r) => r.width && r.height);
			if (!own) continue;
			const s = shown(own, e.parentElement);
			const left = Math.max(s.left, 0), right = Math.min(s.right, innerWidth), top = Math.max(s.top, 0), bottom = Math.min(s.bottom, innerHeight);
			if (right - left < Math.min(12, own.width) || bottom - top < Math.min(10, own.height)) {
				say("out of reach", e, parts(own));
				continue;
			}
			const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
			if (!hit || !(e.contains(hit) || hit.contains(e) && !e.matches("button") || e.labels && [...e.labels].some((l) => l.contains(hit)))) say("covered", e, "by " + (hit && (hit.id || hit.className.baseVal || hit.className || hit.localName)) + " " + parts(own));
		}
		wrong.splice(from + 12);
	};
	while (!sheets()) await frame();
	await document.fonts.ready;
	look(document.body);
	// Menus, each by itself. Where there is more room a script opens them to the other side.
	for (const menu of [...document.querySelectorAll("details.menu")].slice(0, 4)) {
		if (!seen(menu)) continue;
		menu.scrollIntoView({ block: "center" });
		menu.open = true;
		const list = menu.querySelector(".menu-list"), edge = list.getBoundingClientRect(), range = document.createRange();
		if (edge.left < 0 || edge.right > innerWidth + 1 || innerWidth >= 760 * grown && edge.width > 420 * grown) say("menu of " + parts(edge), list);
		if (list.scrollWidth > list.clientWidth + 1) say("menu that scrolls sideways", list);
		for (const walk = document.createTreeWalker(list, NodeFilter.SHOW_TEXT); walk.nextNode();) {
			const parent = walk.currentNode.parentElement;
			if (!walk.currentNode.data.trim() || parent.closest("select, script") || !seen(parent)) continue;
			range.selectNodeContents(walk.currentNode);
			rooms = new Map();
			for (const r of range.getClientRects()) if (r.width > 1 && shown(r, parent).right > edge.right + 1) say("leaves its menu", parent);
		}
		menu.open = false;
	}
	const dialog = document.querySelector("#dialog"), panel = document.querySelector(".panel-page");
	if (dialog && panel) {
		dialog.replaceChildren(...panel.childNodes);
		dialog.showModal();
		look(dialog);
	}
	return wrong;
`
