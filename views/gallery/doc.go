// Package gallery holds no code of the program: its tests draw every page of the console with rich invented data, check
// the HTML, and (with the build tag gallery) photograph each page in a browser so that people can look at it:
//
//	GALLERY_DIR=/tmp/gallery go test -tags gallery ./views/gallery -run TestScreenshots
package gallery
