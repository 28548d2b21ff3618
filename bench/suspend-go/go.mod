module suspend

go 1.21
