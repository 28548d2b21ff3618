module athanor/guests/gohttp

go 1.21

require athanor/simnet v0.0.0

replace athanor/simnet => ../sdk/go
