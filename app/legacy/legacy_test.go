package legacy

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/manage"
)

func TestGenerationIsReadOffTheRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, form, cookie string
		want               generation
	}{
		{"nothing tells", "id=1", "", second},
		{"one of ids[]", "ids[]=1", "", second},
		{"an offset", "offset=0", "XXL_JOB_LOGIN_IDENTITY=x", second},
		{"a page's size alone", "pagesize=5", "", second},
		{"a start", "start=0", "xxl_job_login_token=x", first},
		{"a length alone", "length=5", "", first},
		{"the first cookie", "id=1", "XXL_JOB_LOGIN_IDENTITY=x", first},
		{"the second cookie, which came with 3.2.0", "id=1", "xxl_job_login_token=x", second},
		{"both cookies", "id=1", "XXL_JOB_LOGIN_IDENTITY=x; xxl_job_login_token=x", second},
		{"the console's cookie", "id=1", "punctual=x", second},
	} {
		form, err := url.ParseQuery(tt.form)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/jobinfo/update", nil)
		if tt.cookie != "" {
			r.Header.Set("Cookie", tt.cookie)
		}
		if got := generationOf(form, r); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestAnswersAreSpelledAsTheCallerKnowsThem(t *testing.T) {
	t.Parallel()
	list := rows{list: []int{7}, total: 21, page: page{offset: 20, size: 10}}
	for _, tt := range []struct {
		name string
		body any
		want string
	}{
		{"nothing, first", spell(first, nil), `{"code":200,"msg":null,"content":null}`},
		{"nothing, second", spell(second, nil), `{"code":200,"msg":"Success","data":null,"success":true}`},
		{"a text, first", spell(first, "15"), `{"code":200,"msg":null,"content":"15"}`},
		{"a text, second", spell(second, "15"), `{"code":200,"msg":"Success","data":"15","success":true}`},
		{"a list, first", spell(first, list), `{"recordsTotal":21,"recordsFiltered":21,"data":[7]}`},
		{"a list, second", spell(second, list), `{"code":200,"msg":"Success","data":{"offset":20,"pagesize":10,"data":[7],"total":21},"success":true}`},
		{"a refusal, first", refuse(first, "no"), `{"code":500,"msg":"no","content":null}`},
		{"a refusal, second", refuse(second, "no"), `{"code":500,"msg":"no","data":null,"success":false}`},
	} {
		got, err := json.Marshal(tt.body)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestWhichPartOfAList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		form string
		gen  generation
		want page
		bad  bool
	}{
		{"", second, page{0, 10}, false},
		{"start=20&length=5", first, page{20, 5}, false},
		{"offset=20&pagesize=5", second, page{20, 5}, false},
		{"offset=20&pagesize=5", second, page{20, 5}, false},
		{"start=&length=", first, page{0, 10}, false},
		{"start=0&length=-1", first, page{0, 1 << 30}, false},
		{"start=0&length=9223372036854775807", first, page{0, 1 << 30}, false},
		{"start=-1", first, page{}, true},
		{"start=9223372036854775807", first, page{}, true},
		{"offset=1e3", second, page{}, true},
	} {
		values, err := url.ParseQuery(tt.form)
		if err != nil {
			t.Fatal(err)
		}
		c := &call{form: form{values: values}, gen: tt.gen}
		got, err := c.page()
		if tt.bad != (err != nil) || !tt.bad && got != tt.want {
			t.Errorf("%q: %+v, %v, want %+v", tt.form, got, err, tt.want)
		}
	}
	if err := (page{size: 5001}).complete(5001, 5000); err == nil {
		t.Error("a list that does not come whole is taken for whole")
	}
	for _, p := range []page{{size: 5000}, {size: 1 << 30, offset: 2}} {
		if err := p.complete(5002, 5000); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if got := slice([]int{1, 2, 3}, page{offset: 2, size: 1 << 30}); !cmp.Equal(got, []int{3}) {
		t.Errorf("got %v", got)
	}
	if got := slice([]int{1, 2, 3}, page{offset: 1 << 30, size: 1}); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestPagesLeadToOurs(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                             "/",
		"toLogin":                      "/login",
		"auth/login":                   "/login",
		"jobinfo?jobGroup=2":           "/jobs?group=2",
		"jobinfo?jobGroup=x":           "/jobs",
		"joblog?jobGroup=2&jobId=9":    "/runs?group=2&job=9",
		"joblog?jobId=-3":              "/runs",
		"jobcode?jobId=9":              "/jobs/9/glue",
		"jobcode":                      "/",
		"joblog/logDetailPage?id=1234": "/runs/1234",
		"jobgroup":                     "/executors",
		"user":                         "/users",
	} {
		name, query, _ := strings.Cut(path, "?")
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := pages[name](q); got != want {
			t.Errorf("%s leads to %q, want %q", path, got, want)
		}
	}
}

// FuzzForm reads whatever is posted. It never panics, and a value that is none leaves a fault behind.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{
		"", "id=1", "ids[]=1", "ids%5B%5D=1,2", "id=&ids[]=", "start=0&length=10", "offset=-1&pagesize=9223372036854775808", "id=1;drop", "jobGroup=%ff&id=%00",
		"filterTime=2026-01-01 00:00:00 - 2026-01-02 00:00:00", "permission=1,2，3&role=9", "name=a&jobDesc=b", "executorTimeout=1e9&executorFailRetryCount=-9999999999",
	} {
		f.Add("application/x-www-form-urlencoded", seed)
	}
	f.Add("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n1\r\n--x--\r\n")
	f.Add("multipart/form-data", "")
	f.Add("application/json", `{"id":1}`)
	f.Fuzz(func(t *testing.T, contentType, body string) {
		r := httptest.NewRequest(http.MethodPost, "/xxl-job-admin/jobinfo/update?start=1", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		if err := parse(r); err != nil {
			return
		}
		c := &call{form: form{values: r.Form}, gen: generationOf(r.Form, r)}
		for name, values := range r.Form {
			if !utf8.ValidString(strings.Join(values, "")) {
				t.Errorf("%q is no text: %q", name, values)
			}
		}
		if id := c.id(); id < 1 && c.err() == nil {
			t.Errorf("id %d without a fault", id)
		}
		c.faults = nil
		if p, err := c.page(); err == nil && (p.offset < 0 || p.size < 1) {
			t.Errorf("page %+v without a fault", p)
		}
		c.faults = nil
		if role := c.oneOf("role", -1, 0, 1); role < -1 || role > 1 {
			t.Errorf("role %d", role)
		}
		for group, r := range c.rights(nil) {
			if group < 1 || r == 0 {
				t.Errorf("rights %v in group %d", r, group)
			}
		}
		if in := c.jobInput(manage.JobInput{}); in.Group == 0 && in.Name == "" && r.Form.Get("jobDesc") != "" {
			t.Error("a description was lost")
		}
		c.groupInput(manage.GroupInput{})
		before, since := c.naming("jobDesc")
		if !before && !since {
			t.Error("a row would have no name")
		}
	})
}
