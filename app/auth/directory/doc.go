// Package directory asks others who somebody is: OpenID Connect providers ([Provider]) and LDAP directories ([LDAP]). What they
// say of a person is turned into what that person may do here by rules ([Rule]), anew at each sign-in; whom no rule lets in is
// refused. Nothing here knows of users: what comes out is an [Identity], and package manage makes a user of it.
//
// All of it is described by one file ([Read]), which is the same on every admin of an installation.
package directory
