package directorytest

import (
	"bytes"
	_ "embed"
	"encoding/base32"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/pquerna/otp/totp"

	"github.com/punctual-job/punctual/executor/executortest"
)

// Keycloak is a Keycloak with a realm in which ann is in the group chiefs. Her password is [Password], and she has an app with codes.
// It knows two levels, which it names in acr: silver by the password, gold by a code too. Its amr are pwd and otp.
type Keycloak struct {
	URL string // the issuer

	base string
	done chan struct{}
}

//go:embed keycloak.json
var realm []byte

// codeSecret is what ann's app computes codes from, as it stands in the realm: raw, not in base 32.
const codeSecret = "kettleorbitlamp17kettle"

// NewKeycloak starts the Keycloak that TEST_KEYCLOAK names, an unpacked distribution, gone when the test ends. Without one the test
// is skipped: make test/keycloak gets it from Maven.
func NewKeycloak(t testing.TB) *Keycloak {
	t.Helper()
	home := os.Getenv("TEST_KEYCLOAK")
	if home == "" {
		t.Skip("TEST_KEYCLOAK names no folder with a Keycloak (make test/keycloak gets one)")
	}
	port := executortest.FreePort(t)
	k := &Keycloak{base: "http://127.0.0.1:" + port, done: make(chan struct{})}
	k.URL = k.base + "/realms/company"
	var said bytes.Buffer
	cmd := exec.Command(filepath.Join(home, "bin", "kc.sh"), "start-dev", "--db=dev-mem", "--http-host=127.0.0.1", "--http-port="+port, "--hostname="+k.base)
	cmd.Env = append(os.Environ(), "KC_BOOTSTRAP_ADMIN_USERNAME=admin", "KC_BOOTSTRAP_ADMIN_PASSWORD="+Password, "JAVA_OPTS_APPEND=-Xmx512m")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(k.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the shell has become the server
		<-k.done
		if t.Failed() {
			t.Logf("Keycloak said:\n%s", said.String())
		}
	})
	k.wait(t)
	k.admin(t, "POST", "", json.RawMessage(realm))
	return k
}

// wait waits until the server answers. Its first start builds it, which takes minutes on a small machine.
func (k *Keycloak) wait(t testing.TB) {
	t.Helper()
	for range 600 {
		if resp, err := http.Get(k.base + "/realms/master"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-k.done:
			t.Fatal("Keycloak ended at its start")
		case <-time.After(time.Second):
		}
	}
	t.Fatal("Keycloak does not answer")
}

// admin calls the interface of administrators below /admin/realms.
func (k *Keycloak) admin(t testing.TB, method, path string, body any) (answer []byte) {
	t.Helper()
	resp, err := http.PostForm(k.base+"/realms/master/protocol/openid-connect/token",
		url.Values{"client_id": {"admin-cli"}, "grant_type": {"password"}, "username": {"admin"}, "password": {Password}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var token struct {
		Access string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&token); err != nil {
		t.Fatal(err)
	}
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, k.base+"/admin/realms"+path, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token.Access)
	req.Header.Set("Content-Type", "application/json")
	done, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer done.Body.Close()
	if answer, err = io.ReadAll(done.Body); err != nil || done.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s, %v", method, path, done.StatusCode, answer, err)
	}
	return answer
}

// id is the id of something that an administrator finds by a path.
func (k *Keycloak) id(t testing.TB, path string) string {
	t.Helper()
	var found []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(k.admin(t, "GET", path, nil), &found); err != nil || len(found) != 1 {
		t.Fatalf("%s: %d found, %v", path, len(found), err)
	}
	return found[0].ID
}

// Change gives ann other properties, as an administrator of Keycloak does.
func (k *Keycloak) Change(t testing.TB, user map[string]any) {
	t.Helper()
	k.admin(t, "PUT", "/company/users/"+k.id(t, "/company/users?username=ann"), user)
}

// Move takes ann out of one group and into another.
func (k *Keycloak) Move(t testing.TB, from, to string) {
	t.Helper()
	of := "/company/users/" + k.id(t, "/company/users?username=ann") + "/groups/"
	k.admin(t, "DELETE", of+k.id(t, "/company/groups?exact=true&search="+from), nil)
	k.admin(t, "PUT", of+k.id(t, "/company/groups?exact=true&search="+to), nil)
}

// SignIn goes to the address of a sign-in as ann with a fresh browser, and fills in what she is asked: the name of each form, in
// order, and the address to which she is sent back, which is empty if Keycloak does not let her go on.
func (k *Keycloak) SignIn(t testing.TB, address string) (asked []string, back string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), k.base+"/") {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := browser.Get(address)
	for {
		if err != nil {
			t.Fatal(err)
		}
		page, readErr := goquery.NewDocumentFromReader(resp.Body)
		resp.Body.Close()
		if readErr != nil {
			t.Fatal(readErr)
		}
		if resp.StatusCode == http.StatusFound || resp.StatusCode == http.StatusSeeOther {
			return asked, resp.Header.Get("Location")
		}
		form := page.Find("#kc-form-login, #kc-otp-login-form")
		action, is := form.Attr("action")
		name, _ := form.Attr("id")
		if !is || len(asked) > 0 && asked[len(asked)-1] == name {
			return append(asked, strings.Join(strings.Fields(page.Find("#kc-content, .kcContentWrapperClass, main, body").First().Text()), " ")), ""
		}
		asked = append(asked, name)
		values := url.Values{"username": {"ann"}, "password": {Password}}
		if name == "kc-otp-login-form" {
			code, err := totp.GenerateCode(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(codeSecret)), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			values = url.Values{"otp": {code}}
		}
		resp, err = browser.PostForm(action, values)
	}
}
