package curl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/httpcall"
)

func TestCommandsBecomeCalls(t *testing.T) {
	t.Parallel()
	const at = "https://api.example.com/x"
	form := "application/x-www-form-urlencoded"
	tests := []struct {
		line  string
		want  httpcall.Call
		notes []Note
	}{
		{"curl " + at, httpcall.Call{URL: at, Method: "GET"}, nil},
		{"$ curl.exe -sSfL --compressed " + at, httpcall.Call{URL: at, Method: "GET"}, nil},
		{"curl example.com/a?b=1", httpcall.Call{URL: "http://example.com/a?b=1", Method: "GET"}, nil},
		{"curl -XDELETE --url " + at, httpcall.Call{URL: at, Method: "DELETE"}, nil},
		{"curl -sXPUT -da=1 -d 'b=2 3' " + at, httpcall.Call{URL: at, Method: "PUT", ContentType: form, Data: "a=1&b=2 3"}, nil},
		{"curl -I " + at, httpcall.Call{URL: at, Method: "HEAD"}, nil},
		{"curl \\\r\n  --request patch \\\r\n  " + at + "\r\n", httpcall.Call{URL: at, Method: "PATCH"}, nil},
		{`curl -H 'X-Tenant: eu' -H "x-tenant: us" -H 'X-Empty;' -A me -e http://r/ ` + at,
			httpcall.Call{URL: at, Method: "GET", Headers: map[string]string{"X-Tenant": "eu, us", "X-Empty": "", "User-Agent": "me", "Referer": "http://r/"}}, nil},
		{`curl --json '{"a":1}' ` + at, httpcall.Call{URL: at, Method: "POST", ContentType: "application/json", Headers: map[string]string{"Accept": "application/json"}, Data: `{"a":1}`}, nil},
		{`curl --json '{"a":' --json '1}' -H 'accept: text/plain' ` + at,
			httpcall.Call{URL: at, Method: "POST", ContentType: "application/json", Headers: map[string]string{"accept": "text/plain"}, Data: `{"a":1}`}, nil},
		{`curl -H 'Content-Type: text/xml' --data-raw '@a' ` + at, httpcall.Call{URL: at, Method: "POST", ContentType: "text/xml", Data: "@a"}, nil},
		{"curl --data-urlencode 'q=a b&c' --data-urlencode '=x y' --data-urlencode 'z ' " + at, httpcall.Call{URL: at, Method: "POST", ContentType: form, Data: "q=a+b%26c&x+y&z+"}, nil},
		{"curl -G -d a=1 --data-urlencode 'b=ü' --url-query c=3 '" + at + "?z=0#f'", httpcall.Call{URL: at + "?z=0&c=3&a=1&b=%C3%BC#f", Method: "GET"}, nil},
		{"curl -m 2.5 --retry 3 " + at, httpcall.Call{URL: at, Method: "GET", Timeout: 2500}, nil},
		{`curl -d $'it\'s\n\x41\u0021\u20ac\ud83d\ude00\101' ` + at, httpcall.Call{URL: at, Method: "POST", ContentType: form, Data: "it's\nA!€😀A"}, nil},
		{`curl -d "a\"b\$c\\d\e $" -d 'x'"y"z\ w ` + at, httpcall.Call{URL: at, Method: "POST", ContentType: form, Data: `a"b$c\d\e $&xyz w`}, nil},
		{`curl 'https://api.example.com/x?filter\[a\]=1'`, httpcall.Call{URL: at + "?filter[a]=1", Method: "GET"}, nil},
		{"curl -g '" + at + "?a[1]=2'", httpcall.Call{URL: at + "?a[1]=2", Method: "GET"}, nil},
		{"curl '" + at + "/[1-3]'", httpcall.Call{URL: at + "/[1-3]", Method: "GET"}, []Note{{Kind: Glob, Text: "[]{}"}}},
		{"curl -k --proxy http://u:p@proxy -o out --http2 " + at, httpcall.Call{URL: at, Method: "GET"},
			[]Note{{Kind: Insecure, Text: "-k"}, {Kind: LeftOut, Text: "--proxy"}, {Kind: LeftOut, Text: "-o"}, {Kind: LeftOut, Text: "--http2"}}},
		{"curl -m 3601 -F a=@b -d @file -b jar -H @h -H 'Accept:' -H bad -H 'Accept-Encoding: gzip, br' " + at, httpcall.Call{URL: at, Method: "POST", ContentType: "multipart/form-data; boundary=" + boundary},
			[]Note{{Kind: LeftOut, Text: "-m"}, {Kind: File, Text: "-F"}, {Kind: File, Text: "-d"}, {Kind: File, Text: "-b"}, {Kind: File, Text: "-H"}, {Kind: LeftOut, Text: "-H Accept:"}, {Kind: LeftOut, Text: "-H"}, {Kind: Own, Text: "Accept-Encoding"}, {Kind: LeftOut, Text: "-d"}}},
		{"curl -d @f " + at, httpcall.Call{URL: at, Method: "POST", ContentType: form}, []Note{{Kind: File, Text: "-d"}}},
		{"curl -T f " + at, httpcall.Call{URL: at, Method: "PUT"}, []Note{{Kind: File, Text: "-T"}}},
		{"curl -F 'a=b;type=text/x' -F 'c=\"d;\\\"\"' --form-string e=@f " + at, httpcall.Call{URL: at, Method: "POST", ContentType: "multipart/form-data; boundary=" + boundary,
			Data: "--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: text/x\r\n\r\nb\r\n--" + boundary + "\r\nContent-Disposition: form-data; name=\"c\"\r\n\r\nd;\"\r\n--" +
				boundary + "\r\nContent-Disposition: form-data; name=\"e\"\r\n\r\n@f\r\n--" + boundary + "--\r\n"}, nil},
		{"curl -b a=1 -A x -H 'Cookie: b=2' -H 'User-Agent: y' -e z " + at,
			httpcall.Call{URL: at, Method: "GET", Headers: map[string]string{"Cookie": "${{ secrets.API_EXAMPLE_COM_COOKIE }}", "User-Agent": "y", "Referer": "z"}}, []Note{{Secret, "Cookie", "API_EXAMPLE_COM_COOKIE"}}},
		{"curl -G --json '{}' https://api.example.com/a/../x", httpcall.Call{URL: at + "?{}", Method: "GET", ContentType: "application/json", Headers: map[string]string{"Accept": "application/json"}}, nil},

		// What is secret.
		{"curl -u ann:hunter22 " + at, httpcall.Call{URL: at, Method: "GET", Auth: "Basic ${{ secrets.API_EXAMPLE_COM_BASIC }}"}, []Note{{Basic, "Authorization", "API_EXAMPLE_COM_BASIC"}}},
		{"curl https://ann:hunter22@api.example.com/x", httpcall.Call{URL: at, Method: "GET", Auth: "Basic ${{ secrets.API_EXAMPLE_COM_BASIC }}"}, []Note{{Basic, "Authorization", "API_EXAMPLE_COM_BASIC"}}},
		{"curl -H 'authorization: Bearer hunter22' " + at, httpcall.Call{URL: at, Method: "GET", Auth: "Bearer ${{ secrets.API_EXAMPLE_COM_TOKEN }}"}, []Note{{Secret, "Authorization", "API_EXAMPLE_COM_TOKEN"}}},
		{"curl --oauth2-bearer hunter22 " + at, httpcall.Call{URL: at, Method: "GET", Auth: "Bearer ${{ secrets.API_EXAMPLE_COM_TOKEN }}"}, []Note{{Secret, "Authorization", "API_EXAMPLE_COM_TOKEN"}}},
		{"curl -H 'Authorization: hunter22' http://127.0.0.1/", httpcall.Call{URL: "http://127.0.0.1/", Method: "GET", Auth: "${{ secrets.S_127_0_0_1_AUTHORIZATION }}"}, []Note{{Secret, "Authorization", "S_127_0_0_1_AUTHORIZATION"}}},
		{"curl -H 'X-API-Key: hunter22' -b 'sid=hunter22' " + at,
			httpcall.Call{URL: at, Method: "GET", Headers: map[string]string{"X-API-Key": "${{ secrets.API_EXAMPLE_COM_X_API_KEY }}", "Cookie": "${{ secrets.API_EXAMPLE_COM_COOKIE }}"}},
			[]Note{{Secret, "X-API-Key", "API_EXAMPLE_COM_X_API_KEY"}, {Secret, "Cookie", "API_EXAMPLE_COM_COOKIE"}}},
		{"curl '" + at + "?a=1&access_token=hunter22' -d 'user=ann&password=hunter22' -d token=hunter23 -d token=hunter24",
			httpcall.Call{URL: at + "?a=1&access_token=${{ secrets.API_EXAMPLE_COM_ACCESS_TOKEN }}", Method: "POST", ContentType: form,
				Data: "user=ann&password=${{ secrets.API_EXAMPLE_COM_PASSWORD }}&token=${{ secrets.API_EXAMPLE_COM_TOKEN }}&token=${{ secrets.API_EXAMPLE_COM_TOKEN_2 }}"},
			[]Note{{Secret, "access_token", "API_EXAMPLE_COM_ACCESS_TOKEN"}, {Secret, "password", "API_EXAMPLE_COM_PASSWORD"}, {Secret, "token", "API_EXAMPLE_COM_TOKEN"}, {Secret, "token", "API_EXAMPLE_COM_TOKEN_2"}}},
		{`curl --json '{"u":"ann","in":{"clientSecret": "hunter22"}}' ` + at,
			httpcall.Call{URL: at, Method: "POST", ContentType: "application/json", Headers: map[string]string{"Accept": "application/json"}, Data: `{"u":"ann","in":{"clientSecret": "${{ secrets.API_EXAMPLE_COM_CLIENTSECRET }}"}}`},
			[]Note{{Secret, "clientSecret", "API_EXAMPLE_COM_CLIENTSECRET"}}},
		{"curl -F password=hunter22 " + at, httpcall.Call{URL: at, Method: "POST", ContentType: "multipart/form-data; boundary=" + boundary,
			Data: "--" + boundary + "\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n${{ secrets.API_EXAMPLE_COM_PASSWORD }}\r\n--" + boundary + "--\r\n"},
			[]Note{{Secret, "password", "API_EXAMPLE_COM_PASSWORD"}}},
		{"curl --data-urlencode 'password=hunter22 ' --data-urlencode \"a=$A\" " + at, httpcall.Call{URL: at, Method: "POST", ContentType: form, Data: "password=${{ secrets.API_EXAMPLE_COM_PASSWORD }}&a=${{ secrets.A }}"},
			[]Note{{Kind: Encoded, Text: "--data-urlencode"}, {Secret, "password", "API_EXAMPLE_COM_PASSWORD"}, {Variable, "A", "A"}}},
		{`curl -H "Authorization: Bearer $TOKEN" -d "day=${DAY}" ` + at, httpcall.Call{URL: at, Method: "POST", ContentType: form, Auth: "Bearer ${{ secrets.TOKEN }}", Data: "day=${{ secrets.DAY }}"},
			[]Note{{Variable, "TOKEN", "TOKEN"}, {Variable, "DAY", "DAY"}}},
		{`curl -H 'Authorization: Bearer ${{ secrets.MINE }}' -d "${{ planned | yyyy }}" ` + at, httpcall.Call{URL: at, Method: "POST", ContentType: form, Auth: "Bearer ${{ secrets.MINE }}", Data: "${{ planned | yyyy }}"}, nil},
	}
	for _, tt := range tests {
		in, err := Parse(tt.line)
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		if want := parameter(tt.want, string(tt.want.Data)); in.Param != want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.line, in.Param, want)
		}
		if !slices.Equal(in.Notes, tt.notes) {
			t.Errorf("%s: notes %+v, want %+v", tt.line, in.Notes, tt.notes)
		}
		if strings.Contains(in.Param+in.Name, "hunter2") {
			t.Errorf("%s: a secret stands in the job", tt.line)
		}
	}
	in, err := Parse("curl --retry 3 -d a 'https://ann:pw@api.example.com:8443/close/?q=1'")
	if err != nil || in.Retries != 3 || in.Name != "POST api.example.com:8443/close" {
		t.Errorf("name and retries: %+v, %v", in, err)
	}
}

func TestWhatIsNoCommandIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		kind Reason
		text string
	}{
		{"", NotCurl, ""},
		{"wget http://a/", NotCurl, ""},
		{"curl 'http://a/", Quote, "'"},
		{`curl "http://a/`, Quote, `"`},
		{`curl $'http://a/`, Quote, "$'"},
		{"curl http://a/?x=1&y=2", Shell, "&"},
		{"curl http://a/ | jq .", Shell, "|"},
		{"curl http://a/ > f", Shell, ">"},
		{"curl http://a/\ncurl http://b/", Shell, "curl http://b/"},
		{`curl ^"http://a/^"`, Cmd, ""},
		{`curl "http://a/" --data-raw "{""a"":1}"`, Cmd, ""},
		{`curl "http://a/" --data-raw """a"" b"`, Cmd, ""},
		{"curl \"http://a/$(date)\"", Expansion, "$(date)\""},
		{"curl `date`", Expansion, "`"},
		{`curl -d "a$$" http://a/`, Expansion, "$$"},
		{`curl -d "a$?" http://a/`, Expansion, "$?"},
		{`curl -d {"a":1,"b":2} http://a/`, Expansion, `{"a":1,"b":2} http://a/`},
		{`curl http://a/{1..3}`, Expansion, "{1..3}"},
		{`curl -d $'\x{41}' http://a/`, Expansion, `\x{`},
		{`curl -d $'\ud800' http://a/`, Bytes, ""},
		{"curl ${A:-b}", Expansion, "${A:-b}"},
		{"curl --nonsense 1 http://a/", Option, "--nonsense"},
		{"curl -ß http://a/", Option, "-ß"},
		{"curl http://a/ -X", Missing, "-X"},
		{"curl http://a/ --data", Missing, "--data"},
		{"curl -s", URLs, ""},
		{"curl http://a/ http://b/", URLs, ""},
		{`curl http://a/ -d $'\xff'`, Bytes, ""},
		{"curl ftp.a.example/", Invalid, "url[ftp://ftp.a.example/] is not an http or https address"},
		{"curl ftp://a/", Invalid, "url[ftp://a/] is not an http or https address"},
		{"curl -X PROPFIND http://a/", Invalid, "method[PROPFIND] is not known"},
		{"curl http://a/ -d " + strings.Repeat("a", MaxText), Long, ""},
	}
	for _, tt := range tests {
		_, err := Parse(tt.line)
		f, ok := errors.AsType[*Fault](err)
		if !ok || f.Kind != tt.kind || f.Text != tt.text {
			t.Errorf("%.60s: %v, want %s %s", tt.line, err, tt.kind, tt.text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{
		`curl -X POST 'https://a/b' -H $'a: \u00e9' --data-raw "x\ny" -u u:p`, "curl -G --data-urlencode a=b -k \\\n http://a", `curl --json '{"token":"abcdef"}' https://u:p@h/?key=1`, `curl "$A${B}" ^"`,
		`curl -F 'a="b\"c";type=x' -F d=@e -F '=;' --form-string 'token=f' http://a/./b/../c -T g`, `curl -d a{b,"c d",{e}} ftp.x`,
		`curl 'http://[::1]/\[x\]{a,b}' -b 'a=b' -b c=d -H 'Cookie: e=f'`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		in, err := Parse(line)
		if err != nil {
			if _, ok := errors.AsType[*Fault](err); !ok {
				t.Fatalf("no fault: %v", err)
			}
		} else if _, err := httpcall.Check(in.Param); err != nil {
			t.Fatalf("a call that is refused: %v\n%s", err, in.Param)
		}
		// Whatever else a command says, the password does not get through.
		const password = "ann:zq81kd7f"
		if in, err := Parse(line + " -u " + password); err == nil && strings.Contains(in.Param+in.Name, "zq81kd7f") && slices.ContainsFunc(in.Notes, func(n Note) bool { return n.Kind == Basic }) {
			t.Fatalf("the password stands in the job:\n%s", in.Param)
		}
	})
}
