// Package client is the command line's half of API v1: what `punctual jobs` and its neighbours do. It knows the API by its document alone
// and imports nothing of the admin, so that what it can do everybody's programs can.
//
// # Assistants
//
// `punctual mcp` offers the API to assistants that speak the Model Context Protocol: assistant.go has the server, tools.go what it offers,
// mcp.go how it is reached. It is a client like the other commands and no part of the admin: it has no right of its own, so that whatever
// somebody talks an assistant into is bounded by the token. Tools that the token may not use are not offered, and the admin refuses them
// whoever calls.
//
// Over HTTP it has a listener of its own, on this machine alone unless told otherwise, and not a path of the admin's. The admin serves people and
// executors, and a protocol that changes every few months, with a library that parses what strangers send, has no place among its promises;
// whoever wants no assistants starts none. It keeps no token and no session: each request brings its bearer token, which goes to API v1 as it
// came. A token of a context, which is its owner's, is therefore not used over HTTP. Requests are taken for names that were said to be its
// own alone, and from no other origin, so that a page in a browser cannot reach it by giving its own name this machine's address.
//
// What is read of an installation was written by many people and programs. It is handed on as data: bounded, without control characters,
// and called data in the description of every tool. That keeps nobody from believing it, which is why the rights count and not the words.
package client
