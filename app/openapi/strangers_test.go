package openapi

import (
	"encoding/hex"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// oldRegistration is the end of what an executor of 2.1.0 registers with; what comes before is the class of the call.
const oldRegistration = "084558454355544f521778786c2d6a6f622d6578656375746f722d73616d706c65113139322e3136382e312e31303a39393939"

func TestRefusedCallsAreToldToTheEngine(t *testing.T) {
	t.Parallel()
	old, err := hex.DecodeString(oldRegistration)
	if err != nil {
		t.Fatal(err)
	}
	const orders = `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"http://10.0.0.7:9999/"}`
	bare := strings.Replace(orders, "http://10.0.0.7:9999/", "10.0.0.7:9999", 1)
	at := func(appName string) scheduler.Caller { return scheduler.Caller{Address: "10.1.2.3", AppName: appName} }
	for _, tc := range []struct {
		name, path, header, token, appName, body string
		want                                     []refusedCall
		dialects                                 []wire.Dialect
	}{
		{"a registration", "/api/registry", wire.HeaderToken, "x", "", orders, []refusedCall{{at("orders"), scheduler.RefusedToken, nil}}, nil},
		{"a name in the header", "/api/callback", wire.HeaderToken, "x", "bills", `{"callbackList":[{"logId":7,"handleCode":200}]}`, []refusedCall{{at("bills"), scheduler.RefusedToken, []int64{7}}}, nil},
		{"results", "/api/callback", wire.HeaderToken, "", "", `[{"logId":7},{"logId":8}]`, []refusedCall{{at(""), scheduler.RefusedToken, []int64{7, 8}}}, nil},
		{"a name that cannot be one", "/api/registry", wire.HeaderToken, "x", "", strings.Replace(orders, "orders", "<b>", 1), []refusedCall{{at(""), scheduler.RefusedToken, nil}}, nil},
		{"no JSON", "/api/registry", wire.HeaderToken, "x", "", "hello", []refusedCall{{at(""), scheduler.RefusedToken, nil}}, nil},
		{"the token of another group", "/api/registry", wire.HeaderToken, ordersToken, "", strings.Replace(orders, "orders", "bills", 1), []refusedCall{{at("bills"), scheduler.RefusedToken, nil}}, nil},
		{"the old protocol", "/xxl-job-admin/api", "", "", "", "C0-com.xxl.rpc.remoting.net.params.XxlRpcRequest" + string(old), []refusedCall{{at("xxl-job-executor-sample"), scheduler.RefusedTooOld, nil}}, nil},
		{"2.1.1 registers", "/api/registry", wire.HeaderRPCToken, token, "", bare, []refusedCall{{at("orders"), scheduler.RefusedTooOld, nil}}, []wire.Dialect{wire.DialectTooOld}},
		{"a bare address says nothing new", "/api/registry", wire.HeaderToken, token, "", bare, nil, nil},
		{"a name that no group has", "/api/registry", wire.HeaderToken, token, "", strings.Replace(orders, "orders", "nobodys", 1),
			[]refusedCall{{scheduler.Caller{Address: "10.1.2.3", AppName: "nobodys", Executor: "http://10.0.0.7:9999/"}, scheduler.RefusedUnknown, nil}}, []wire.Dialect{wire.DialectRun}},
		{"2.2.0 registers", "/api/registry", wire.HeaderToken, token, "", orders, nil, []wire.Dialect{wire.DialectRun}},
	} {
		api, e := newAPI()
		r := httptest.NewRequest("POST", tc.path, strings.NewReader(tc.body))
		r.RemoteAddr = "10.1.2.3:4567"
		if tc.header != "" {
			r.Header.Set(tc.header, tc.token)
		}
		if tc.appName != "" {
			r.Header.Set(wire.HeaderAppName, tc.appName)
		}
		api.ServeHTTP(httptest.NewRecorder(), r)
		if diff := cmp.Diff(tc.want, e.refused, cmp.AllowUnexported(refusedCall{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.dialects, e.dialects); diff != "" {
			t.Errorf("%s: dialects (-want +got):\n%s", tc.name, diff)
		}
	}
}
