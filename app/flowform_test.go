package app

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// stepsForm is the form of a flow's steps as a browser has it: what was drawn last, and the text.
type stepsForm struct {
	t    *testing.T
	b    *browser
	job  url.Values // the form around it
	text string
	doc  *goquery.Document
}

// send sends what stands in the form, with fields changed and a button's deed, and keeps the answer.
func (f *stepsForm) send(deed string, changed url.Values) {
	f.t.Helper()
	form := maps.Clone(f.job)
	form.Set("source", f.text)
	if f.doc != nil {
		f.doc.Find(`[form="flow-step"][name]`).Each(func(_ int, s *goquery.Selection) {
			name, value := s.AttrOr("name", ""), s.AttrOr("value", "")
			switch _, checked := s.Attr("checked"); {
			case s.Is("select"):
				if value = s.Find("option[selected]").AttrOr("value", ""); value == "" {
					value = s.Find("option").AttrOr("value", "")
				}
			case s.Is("textarea"):
				value = strings.TrimPrefix(s.Text(), "\n")
			case s.Is("[type=checkbox]") && !checked:
				return
			}
			form.Add(name, value)
		})
	}
	maps.Copy(form, changed)
	form.Set("flow_deed", deed)
	got := f.b.post("/jobs/flow-preview", form)
	if got.status != http.StatusOK {
		f.t.Fatalf("%s: %d %s", deed, got.status, got.body)
	}
	f.doc = got.document(f.t)
	if text := f.doc.Find("[data-flow-text]"); text.Length() == 1 {
		f.text = strings.TrimPrefix(text.Text(), "\n")
	}
}

func (f *stepsForm) value(name string) string {
	s := f.doc.Find(`[name="` + name + `"]`)
	if s.Is("textarea") {
		return strings.TrimPrefix(s.Text(), "\n")
	}
	return s.AttrOr("value", "")
}

// threeSteps is the text that [TestTheFormOfStepsWritesTheText] makes, and twoSteps what another flow begins with.
const (
	threeSteps = "steps:\n  - id: rates\n    name: Fetch the rates\n    job: 1\n    retries: 2\n  - id: step2\n    needs: rates\n    approve:\n      message: Pay ${{ steps.rates.output.sum }}?\n      timeout_seconds: 60\n      default: approve\n" +
		"  - id: write\n    needs: [step2, rates]\n    if: steps.rates.output.sum > 0\n    job: 2\n"
	twoSteps = "steps:\n  - id: rates\n    job: 1\n  - id: write\n    needs: [rates]\n    job: 2\n"
)

// newStepsForm is the form of a new flow, beside two jobs.
func newStepsForm(t *testing.T, o Options) *stepsForm {
	t.Helper()
	admin := open(t, start(t, o)).mustLogin()
	admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"manual"}, "addresses": {"http://127.0.0.1:9/"}})
	for _, name := range []string{"fetch rates", "write ledger"} {
		if got := admin.post("/jobs", form(url.Values{"name": {name}, "handler": {"work"}, "schedule_type": {"NONE"}, "cron": {""}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
	}
	return &stepsForm{t: t, b: admin, job: form(url.Values{"name": {"end of day"}, "glue": {"FLOW"}, "handler": {""}, "schedule_type": {"NONE"}, "cron": {""}})}
}

// openRates is the form of three steps, with the first of them open.
func openRates(t *testing.T, o Options) *stepsForm {
	t.Helper()
	f := newStepsForm(t, o)
	f.text = threeSteps
	f.send("", nil)
	f.send("open rates", nil)
	return f
}

// savedSteps is the form of a flow of two steps, which is job 3.
func savedSteps(t *testing.T, o Options) *stepsForm {
	t.Helper()
	f := newStepsForm(t, o)
	f.text = twoSteps
	f.save()
	return f
}

func (f *stepsForm) save() {
	f.t.Helper()
	f.job.Set("source", f.text)
	if got := f.b.post("/jobs", f.job); got.status != http.StatusSeeOther {
		f.t.Fatalf("save: %d %s", got.status, got.body)
	}
}

func (f *stepsForm) wrote(want string) {
	f.t.Helper()
	if f.text != want {
		f.t.Fatalf("the text is\n%s\nwant\n%s", f.text, want)
	}
}

// TestTheFormOfStepsWritesTheText makes a flow in the form only: what is filled in stands in the text, and a step that is renamed in the one place is
// so in all.
func TestTheFormOfStepsWritesTheText(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := newStepsForm(t, o)
		f.send("", nil)
		if f.doc.Find(".flow-form-steps > li").Length() != 0 || f.doc.Find(`[data-deed="add"]`).Length() != 1 || f.doc.Find(".notice.error").Length() != 0 {
			t.Error("a new flow cannot be begun, or is at fault at once")
		}
		f.send("add", url.Values{"flow_add": {"job"}})
		f.wrote("steps:\n  - id: step1\n    job:\n")
		if fault := f.doc.Find(".flow-form-steps > li .flow-form-fault").Text(); !strings.Contains(fault, "step1") || f.doc.Find("#step_id[data-focus]").Length() != 1 {
			t.Errorf("the new step is not open, or nothing says what it lacks: %q", fault)
		}
		f.send("", url.Values{"step_id": {"fetch"}, "step_job": {"1"}, "step_name": {"Fetch the rates"}})
		f.wrote("steps:\n  - id: fetch\n    name: Fetch the rates\n    job: 1\n")
		if chip := f.doc.Find("[data-chip]").Text(); !strings.Contains(chip, "fetch rates") || f.doc.Find(".notice.error").Length() != 0 {
			t.Errorf("the job has no name, or there are faults: %q", chip)
		}
		f.send("add", url.Values{"flow_add": {"approve"}, "step_retries": {"2"}}) // with what was not sent yet
		f.wrote("steps:\n  - id: fetch\n    name: Fetch the rates\n    job: 1\n    retries: 2\n  - id: step2\n    needs: fetch\n    approve: {}\n")
		if n := f.doc.Find("svg.flow-wide .flow-step").Length(); n != 2 {
			t.Errorf("%d steps in the picture", n)
		}
		f.send("add", url.Values{"flow_add": {"job"}, "step_message": {"Pay ${{ steps.fetch.output.sum }}?"}, "step_default": {"approve"}, "step_answer_in": {"60"}})
		f.send("", url.Values{"step_job": {"2"}, "step_needs": {"fetch", "step2"}, "step_id": {"write"}, "step_if": {"steps.fetch.output.sum > 0"}})
		f.wrote("steps:\n  - id: fetch\n    name: Fetch the rates\n    job: 1\n    retries: 2\n  - id: step2\n    needs: fetch\n    approve:\n      message: Pay ${{ steps.fetch.output.sum }}?\n      timeout_seconds: 60\n      default: approve\n" +
			"  - id: write\n    needs: [step2, fetch]\n    if: steps.fetch.output.sum > 0\n    job: 2\n")

		f.send("open fetch", nil)
		f.send("", url.Values{"step_id": {"rates"}})
		if strings.Contains(f.text, "fetch\n") || strings.Count(f.text, "rates.output.sum") != 2 || !strings.Contains(f.text, "needs: [step2, rates]") {
			t.Errorf("not renamed everywhere:\n%s", f.text)
		}
		f.wrote(threeSteps)
	})
}

// TestAStepLeadsToItsFields: a step of the picture, and of the list beside it, leads to its fields, also when it is open.
func TestAStepLeadsToItsFields(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := openRates(t, o)
		for range 2 {
			f.send("show step2", nil)
			if f.value("step_id") != "step2" || f.doc.Find("#step_id[data-focus]").Length() != 1 {
				t.Errorf("open is %q", f.value("step_id"))
			}
		}
		for _, at := range []string{`svg.flow-wide a[data-deed="show step2"]`, `svg.flow-tall a[data-deed="show step2"]`, `.flow-list a[data-deed="show step2"]`} {
			if f.doc.Find(at).Length() != 1 {
				t.Errorf("there is no %s", at)
			}
		}
	})
}

// TestWhatCannotBeWrittenStaysInItsField, with the reason, and goes on being meant.
func TestWhatCannotBeWrittenStaysInItsField(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := openRates(t, o)
		before := f.text
		f.send("", url.Values{"step_id": {"write"}, "step_timeout": {"soon"}, "step_name": {"Rates"}})
		f.wrote(strings.Replace(before, "name: Fetch the rates", "name: Rates", 1))
		if f.value("step_id") != "write" || f.value("step_timeout") != "soon" || f.doc.Find("#step_id-error").Length() != 1 || f.doc.Find("#step_timeout-error").Length() != 1 {
			t.Error("what was refused is lost, or not explained")
		}
		f.send("open step2", nil)
		if f.value("step_timeout") != "soon" {
			t.Error("another step was opened over what was refused")
		}
		f.send("", url.Values{"step_id": {"rates"}, "step_timeout": {""}})
		if f.doc.Find("#step_id-error, #step_timeout-error").Length() != 0 {
			t.Error("what was mended is still refused")
		}
	})
}

// TestTheTextIsEditedBesideTheForm: comments stay, the form follows, and a field that was changed meanwhile counts too.
func TestTheTextIsEditedBesideTheForm(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := openRates(t, o)
		f.text = strings.Replace(f.text, "    retries: 2\n", "    retries: 3 # since March\n", 1)
		f.send("", url.Values{"step_param": {"--day=1"}})
		if f.value("step_retries") != "3" || !strings.Contains(f.text, "    parameter: --day=1\n    retries: 3 # since March\n") {
			t.Errorf("the form has %s retries, the text is\n%s", f.value("step_retries"), f.text)
		}
		whole := f.text
		f.text += "  - id: ["
		f.send("", url.Values{"step_param": {"--day=2"}, "flow_on_failure": {"continue"}, "flow_outputs": {"total: 7"}})
		if f.value("flow_outputs") != "total: 7" || f.doc.Find("[name=flow_on_failure] option[selected]").AttrOr("value", "") != "continue" {
			t.Errorf("what was typed about the whole flow is gone: %q", f.value("flow_outputs"))
		}
		if notice := f.doc.Find("[data-flow-unread]").Text(); !strings.Contains(notice, "17") || f.value("step_param") != "--day=2" || f.doc.Find("[data-deed]").Length() != 0 {
			t.Errorf("a text that cannot be read: %q, %q", notice, f.value("step_param"))
		}
		f.text = whole
		f.send("", nil)
		if !strings.Contains(f.text, "parameter: --day=2\n") || !strings.Contains(f.text, "on_failure: continue\n") || !strings.Contains(f.text, "total: \"7\"\n") && !strings.Contains(f.text, "total: 7\n") || f.doc.Find("[data-flow-unread]").Length() != 0 {
			t.Errorf("the form does not go on where it was:\n%s", f.text)
		}
	})
}

// TestTheFormSaysThatAStepMayFail, and how long its retries wait.
func TestTheFormSaysThatAStepMayFail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := openRates(t, o)
		f.text = strings.Replace(f.text, "    retries: 2\n", "    retries: 3 # since March\n", 1)
		f.send("", nil)
		before := f.text
		f.send("", url.Values{"step_retry_backoff": {"1m, 5m"}, "step_continue_on_error": {"true"}})
		f.wrote(strings.Replace(before, "retries: 3 # since March\n", "retries: 3 # since March\n    retry_backoff: 1m, 5m\n    continue_on_error: true\n", 1))
		if f.doc.Find("#flow-continue[checked]").Length() != 1 || f.value("step_retry_backoff") != "1m, 5m" {
			t.Error("the form does not say that the step may fail, or how long its retries wait")
		}
		f.send("", url.Values{"step_retry_backoff": {"soon"}})
		if fault := f.doc.Find(".flow-form-fault").Text(); !strings.Contains(fault, "soon") {
			t.Errorf("a back-off that cannot be read: %q", fault)
		}
		f.send("", url.Values{"step_retry_backoff": {""}, "step_continue_on_error": nil})
		f.wrote(before)
	})
}

// TestStepsAreMovedAndRemoved, and what becomes of the others when one fails is chosen. What the list showed before a change of the text beside it is no
// change of it.
func TestStepsAreMovedAndRemoved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := openRates(t, o)
		f.send("down rates", nil)
		if ids := f.doc.Find(".flow-form-title[data-deed]").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("data-deed", "") }); strings.Join(ids, ",") != "open step2,open rates,open write" {
			t.Errorf("moved: %v", ids)
		}
		f.send("", url.Values{"flow_on_failure": {"continue"}})
		if !strings.HasPrefix(f.text, "on_failure: continue\nsteps:\n  - id: step2\n") {
			t.Errorf("on failure:\n%s", f.text)
		}
		f.text = strings.Replace(f.text, "on_failure: continue\n", "", 1)
		whole := f.text
		f.send("", nil)
		if f.wrote(whole); f.doc.Find("[name=flow_on_failure] option[selected]").AttrOr("value", "") != "stop" {
			t.Error("the list does not follow the text")
		}
		f.send("remove step2", nil)
		if strings.Contains(f.text, "step2") || f.doc.Find(`[data-focus][data-deed="open rates"]`).Length() != 1 {
			t.Errorf("removed:\n%s", f.text)
		}
		f.save()
	})
}

// TestThePickerOfAStepFindsJobsForAJob, and flows for a flow.
func TestThePickerOfAStepFindsJobsForAJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := savedSteps(t, o)
		found := func(kind string) string {
			hits := f.b.do("GET", "/jobs/children?step="+kind+"&job=0", nil, "HX-Request", "true").document(t).Find("#step-job-hits [role=option]")
			return strings.Join(hits.Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("data-job", "") }), ",")
		}
		if jobs, flows := found("job"), found("flow"); jobs != "2,1" || flows != "3" {
			t.Errorf("found jobs %s, flows %s", jobs, flows)
		}
		if doc := f.b.get("/jobs/3/glue").document(t); !strings.HasSuffix(strings.TrimSpace(doc.Find("nav.crumbs").Text()), "Definition of the flow") || doc.Find(".flow-form-steps > li").Length() != 2 || doc.Find("form#flow-step").Length() != 1 {
			t.Error("the editor has no form of steps")
		}
	})
}

// TestTwoVersionsOfAFlowBesideEachOther, as a picture too.
func TestTwoVersionsOfAFlowBesideEachOther(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := savedSteps(t, o)
		changed := strings.Replace(f.text, "  - id: write\n", "  - id: wait\n    needs: rates\n    wait: {seconds: 5}\n  - id: write\n", 1)
		changed = strings.Replace(changed, "needs: [rates]", "needs: [wait]", 1)
		if got := f.b.post("/jobs/3/glue", url.Values{"source": {changed}, "remark": {"wait before it"}, "version": {""}}); got.status != http.StatusSeeOther {
			t.Fatalf("not saved: %d\n%s", got.status, changed)
		}
		editor := f.b.get("/jobs/3/glue").document(t)
		older := editor.Find(`.versions a[href*="/versions/"]`)
		if older.Length() != 1 {
			t.Fatalf("%d older versions", older.Length())
		}
		compared := f.b.get(older.AttrOr("href", "")).document(t)
		for selector, want := range map[string]int{".was-added": 1, ".was-changed": 1, ".was-removed": 0, ".flow-step": 3, "path.off:not(.head)": 1, "path.gone:not(.head)": 2} {
			if n := compared.Find("svg.flow-wide " + selector).Length(); n != want {
				t.Errorf("%s: %d in the picture, want %d", selector, n, want)
			}
		}
		if list := compared.Find(".flow-list").Text(); !strings.Contains(list, "Added") || !strings.Contains(list, "Changed: needs") || compared.Find(".difference tr.added").Length() == 0 {
			t.Errorf("the list says %q, or the texts are not compared", list)
		}
	})
}

// TestTheTextOfAFlowIsCalledWhatItIs: a script is called one, and a flow's definition that, whichever type the form is changed to.
func TestTheTextOfAFlowIsCalledWhatItIs(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Sample = SampleOn // there is an executor to make jobs of
	b := open(t, start(t, o)).mustLogin()
	field := b.get("/jobs/new").document(t).Find(".field:has([name=source])")
	for part, want := range map[string]string{
		"label .not-flow": "Script", "label .when-flow": "Definition of the flow", ".help .when-flow": "The steps as YAML. The form above and this text follow each other.",
	} {
		if got := field.Find(part).Text(); got != want {
			t.Errorf("%s is %q, want %q", part, got, want)
		}
	}
}

// TestTheFormWritesTheOutputsOfTheFlow, and the dry run shows them.
func TestTheFormWritesTheOutputsOfTheFlow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		f := openRates(t, o)
		f.send("", url.Values{"flow_outputs": {"sum: steps.rates.output.sum\r\n\r\nyes : 'a: b'"}})
		written := threeSteps + "outputs:\n  sum: steps.rates.output.sum\n  yes: '''a: b'''\n"
		f.wrote(written)
		if shown := f.value("flow_outputs"); shown != "sum: steps.rates.output.sum\nyes: 'a: b'" || shown != f.value("flow_outputs_shown") {
			t.Errorf("the form shows %q", shown)
		}
		if plan := f.doc.Find(".flow-plan").Text(); !strings.Contains(plan, "sum: steps.rates.output.sum") {
			t.Errorf("the dry run says %q", plan)
		}
		f.send("", nil)
		f.wrote(written)
		f.send("", url.Values{"step_id": {"quotes"}})
		renamed := strings.NewReplacer("steps.rates", "steps.quotes", "id: rates", "id: quotes", "needs: rates", "needs: quotes", ", rates]", ", quotes]").Replace(written)
		f.wrote(renamed)
		for _, wrong := range []string{"sum", "sum:", "a-b: 1", "a: 1\na: 2"} {
			f.send("", url.Values{"flow_outputs": {wrong}})
			if f.wrote(renamed); f.value("flow_outputs") != wrong || f.doc.Find("#flow_outputs-error").Length() != 1 {
				t.Errorf("%q is lost, or not explained: %q", wrong, f.value("flow_outputs"))
			}
		}
		f.send("", url.Values{"flow_outputs": {"sum: steps.nobody.code"}})
		if faults := f.doc.Find(".flow-faults").Text(); !strings.Contains(faults, "outputs.sum (line 17)") || !strings.Contains(faults, "nobody") {
			t.Errorf("an output of no step: %q", faults)
		}
		f.send("", url.Values{"flow_outputs": {""}})
		f.wrote(renamed[:strings.Index(renamed, "outputs:")])
	})
}
