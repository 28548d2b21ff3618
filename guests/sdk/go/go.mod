module athanor/simnet

go 1.21
