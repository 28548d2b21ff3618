module athanor/guests/gohello

go 1.21
