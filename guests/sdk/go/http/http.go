// Package http makes http.DefaultTransport, and so http.Get and http.DefaultClient, dial through
// simnet. Import it for its effect:
//
//	import _ "athanor/simnet/http"
package http

import (
	"net/http"

	"athanor/simnet"
)

func init() {
	if transport, ok := http.DefaultTransport.(*http.Transport); ok {
		transport.DialContext = simnet.DialContext
	}
}
